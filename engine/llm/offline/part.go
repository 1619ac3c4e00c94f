package offline

import (
	"context"
	"iter"
	"slices"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// ruleModel is a model that plays one role in a test of an agent, by rules.
type ruleModel struct {
	name   string
	answer func(llm.Request) (llm.Answer, error)
}

// Name is "offline-" and the name of the role.
func (p ruleModel) Name() string { return "offline-" + p.name }

// Chat implements llm.Model. Settings have no effect, and no tokens are counted.
func (p ruleModel) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		answer, err := p.answer(req)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		if answer.Text != "" && !yield(llm.Chunk{Text: answer.Text}, nil) {
			return
		}
		last := llm.Chunk{Finish: llm.FinishStop, ToolCalls: answer.ToolCalls}
		if len(answer.ToolCalls) > 0 {
			last.Finish = llm.FinishToolCalls
		}
		yield(last, nil)
	}
}

// refuse returns the error for a request that the model has no rule for.
func (p ruleModel) refuse(message string) error {
	return &llm.Error{Cause: llm.Rejected, Message: "model " + p.Name() + ": " + message}
}

// emptyWords are folded words that say nothing about the subject of a text.
var emptyWords = read.Set(
	`a about after again agent all also am an and any are as ask asks at be because been but by call called
	caller calls can client contact conversation could customer did do does for from get got had has have he her here hers
	him his how i if in into is it its just know like may me might mine must my no not of off on once or our out please
	s say says shall she should so some t tell than thank thanks that the their them then there these they this those to
	up us user very want wanted wants was we were what when where which while who whom whose why will with would yes you
	your
	au aux avec ce ces cette dans de des du elle elles en est et etes il ils je la le les leur leurs ma mes mon ne nos
	notre nous on ou par pas pour que quel quelle qui sa se ses son sont sur tu un une vos votre vous`)

// subjectWords returns the distinct words of a text except empty words, in lower case and without accents.
func subjectWords(text string) []string {
	var words []string
	seen := map[string]bool{}
	for _, word := range read.Words(text) {
		if !emptyWords[word] && !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// sameWord reports whether two words are forms of the same word. They are equal, or begin with the same four or more
// letters and the shorter has at most one further letter. Numbers must be equal.
func sameWord(one, other string) bool {
	if one == other {
		return true
	}
	a, b := []rune(one), []rune(other)
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	return common >= 4 && min(len(a), len(b))-common <= 1 && !unicode.IsDigit(a[0])
}

func hasWord(words []string, word string) bool {
	return slices.ContainsFunc(words, func(other string) bool { return sameWord(word, other) })
}
