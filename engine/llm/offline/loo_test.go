package offline

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentgraph/agentgraph/engine/read"
)

func TestLeaveOneOut(t *testing.T) {
	cut, _ := strconv.ParseFloat(os.Getenv("CUT"), 64)
	files, _ := filepath.Glob("../../../cmd/agentgraph/demo/merrowby/examples/*.txt")
	var all, right, wrong, none int
	for _, file := range files {
		text, _ := os.ReadFile(file)
		own := readScript(string(text), false).exchanges
		small := readScript(smallTalk, true).exchanges
		exchanges := append(append([]*exchange{}, own...), small...)
		byLang := func(l read.Language) []*exchange {
			return filter(exchanges, func(e *exchange) bool { return e.language == l })
		}
		for _, e := range own {
			if len(e.variants) < 4 {
				continue
			}
			kept := e.variants
			for i := range kept {
				if strings.ContainsAny(kept[i].text, "<*") {
					continue
				}
				e.variants = append(append([]variant{}, kept[:i]...), kept[i+1:]...)
				pool := byLang(e.language)
				reset(pool)
				l := newLexicon(pool)
				c := &conversation{said: kept[i].text}
				_ = c
				best := l.nearest(pool, l.parts(kept[i].text))
				if best.score < cut {
					best.exchange = nil
				}
				all++
				if os.Getenv("DIST") != "" {
					fmt.Printf("dist %.1f %v\n", best.score, best.exchange == e)
				}
				switch {
				case best.exchange == e:
					right++
				case best.exchange == nil:
					none++
					if os.Getenv("LOO") != "" {
						fmt.Printf("none  %-60s | %s\n", kept[i].text, kept[0].text)
					}
				default:
					wrong++
					if os.Getenv("LOO") != "" {
						fmt.Printf("wrong %-60s | %s -> %s %.2f\n", kept[i].text, kept[0].text, best.variants[0].text, best.score)
					}
				}
			}
			e.variants = kept
		}
	}
	fmt.Printf("all %d right %.1f%% wrong %.1f%% none %.1f%%\n", all, 100*float64(right)/float64(all), 100*float64(wrong)/float64(all), 100*float64(none)/float64(all))
}

func reset(pool []*exchange) {
	for _, e := range pool {
		for i := range e.variants {
			e.variants[i].words = nil
		}
		reset(e.replies)
	}
}
