package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// source is a file that was read.
type source struct {
	name string
	root ast.Node
	// content is the decoded content of the file.
	content object
}

// path is a place in a file.
type path struct {
	source *source
	steps  []string
	// shared is the member of a test that its group has instead, or "".
	shared string
}

func (p path) member(name string) path {
	steps := p.steps
	if name == p.shared && name != "" {
		steps = steps[:len(steps)-2] // without the list and the index of the test
	}
	return path{source: p.source, steps: append(slices.Clip(steps), name)}
}

func (p path) index(i int) path { return p.member(strconv.Itoa(i)) }

// String returns the file, the line and the path, such as "agents.yaml:12: agents[0].prompt".
func (p path) String() string {
	if p.source == nil {
		return ""
	}
	var steps strings.Builder
	for _, step := range p.steps {
		if _, err := strconv.Atoi(step); err == nil {
			steps.WriteString("[" + step + "]")
			continue
		}
		if steps.Len() > 0 {
			steps.WriteByte('.')
		}
		steps.WriteString(step)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s:%d: %s", p.source.name, lineOf(p.source.root, p.steps), steps.String()), ": ")
}

// lineOf returns the line of a path, or of the nearest node that exists.
func lineOf(node ast.Node, steps []string) int {
	line := 1
	for node != nil {
		if token := node.GetToken(); token != nil && token.Position != nil {
			line = token.Position.Line
		}
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
			continue
		case *ast.TagNode:
			node = n.Value
			continue
		case *ast.MappingNode:
			if len(n.Values) > 0 {
				line = n.Values[0].Key.GetToken().Position.Line
			}
		}
		if len(steps) == 0 {
			return line
		}
		var below ast.Node
		switch n := node.(type) {
		case *ast.MappingNode:
			for _, v := range n.Values {
				if keyOfNode(v.Key) == steps[0] {
					line, below = v.Key.GetToken().Position.Line, v.Value
				}
			}
		case *ast.SequenceNode:
			if i, err := strconv.Atoi(steps[0]); err == nil && i < len(n.Values) {
				below = n.Values[i]
			}
		}
		if len(steps) == 1 && below != nil && below.Type() != ast.MappingType {
			return line
		}
		node, steps = below, steps[1:]
	}
	return line
}

func keyOfNode(key ast.MapKeyNode) string {
	if text, ok := key.(*ast.StringNode); ok {
		return text.Value
	}
	return key.String()
}

// faults are the errors in files.
type faults []string

func (f *faults) addFault(at path, format string, args ...any) {
	*f = append(*f, at.String()+": "+fmt.Sprintf(format, args...))
}

// err returns all faults as one error, each once and on a line. Tests that share a value have the same faults in it.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	seen := map[string]bool{}
	return errors.New(strings.Join(slices.DeleteFunc(slices.Clone(f), func(fault string) bool {
		isRepeated := seen[fault]
		seen[fault] = true
		return isRepeated
	}), "\n"))
}

// namesIn returns the path itself, or the sorted YAML files in it if it is a directory.
func namesIn(place string) ([]string, error) {
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{place}, nil
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if ending := filepath.Ext(entry.Name()); !entry.IsDir() && (ending == ".yaml" || ending == ".yml") {
			names = append(names, filepath.Join(place, entry.Name()))
		}
	}
	return names, nil
}

// readSources reads and checks all files. The error has an exit code. It lists every fault in the files, or is about
// the first path that does not exist or has no YAML file.
func readSources(places []string) ([]*source, error) {
	var sources []*source
	var wrong faults
	var all []string
	hasContent := false
	for _, place := range places {
		names, err := namesIn(place)
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("the directory %s has no .yaml file", place)
		}
		if err != nil {
			return nil, client.Exit(client.ExitUsage, err)
		}
		for _, name := range names {
			if slices.Contains(all, name) {
				continue
			}
			read, err := readSource(place, name)
			if err != nil {
				wrong = append(wrong, err.Error())
				continue
			}
			wrong = append(wrong, checkSource(read)...)
			sources, all, hasContent = append(sources, read), append(all, name), hasContent || len(read.content) > 0
		}
	}
	if err := wrong.err(); err != nil {
		return nil, client.Exit(client.ExitFailed, err)
	}
	if !hasContent {
		return nil, client.Exit(client.ExitUsage, fmt.Errorf("%s is empty", strings.Join(all, ", ")))
	}
	return sources, nil
}

// readSource reads a YAML file: the path itself, or a file in the directory at the path.
func readSource(place, name string) (*source, error) {
	var file *os.File
	var err error
	if place == name {
		file, err = os.Open(name)
	} else {
		file, err = openWithin(place, filepath.Base(name))
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	// One byte beyond the limit is enough to refuse the file.
	text, err := io.ReadAll(io.LimitReader(file, cli.MaxYAML+1))
	if err != nil {
		return nil, fmt.Errorf("the file %s cannot be read", name)
	}
	return parseSource(name, text)
}

// openWithin opens a regular file in a directory. It refuses symbolic links that lead out of the directory.
func openWithin(directory, name string) (*os.File, error) {
	whole := filepath.Join(directory, name)
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, fmt.Errorf("the directory %s does not exist", directory)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		name = asNamed(root.FS(), filepath.ToSlash(name))
		info, err = root.Stat(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the file %s does not exist", whole)
	case err != nil:
		// The file exists, so only the root refused it: it is a symbolic link that leads out.
		if _, err := os.Stat(whole); err == nil {
			return nil, fmt.Errorf("%s is a symbolic link that leads out of %s, so it is not read", whole, directory)
		}
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", whole)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the file %s cannot be read", whole)
	}
	return file, nil
}

// asNamed returns the path of a file whose names on disk have other forms of the same characters, such as the
// decomposed accents of macOS. It returns the path itself if there is none.
func asNamed(directory fs.FS, name string) string {
	found := "."
	for part := range strings.SplitSeq(name, "/") {
		entries, _ := fs.ReadDir(directory, found)
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return norm.NFC.String(e.Name()) == norm.NFC.String(part) })
		if i < 0 {
			return name
		}
		found = strings.TrimPrefix(found+"/"+entries[i].Name(), "./")
	}
	return found
}

// conflictMarker begins a part of a file that a merge could not decide.
var conflictMarker = regexp.MustCompile(`(?m)^<{7} `)

func parseSource(name string, text []byte) (*source, error) {
	if at := conflictMarker.FindIndex(text); at != nil {
		return nil, fmt.Errorf("%s:%d: the file has the markers of a merge conflict: resolve it first", name,
			1+bytes.Count(text[:at[0]], []byte("\n")))
	}
	root, err := cli.ParseYAML(text)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	read := &source{name: name, root: root}
	var decoded any
	if root != nil {
		if err := yaml.NodeToValue(root, &decoded, yaml.UseOrderedMap()); err != nil {
			return nil, syntaxError(name, err)
		}
	}
	value, isObject := valueOf(decoded).(object)
	if decoded != nil && !isObject {
		return nil, fmt.Errorf("%s:1: must be a mapping with keys such as agents and tools", name)
	}
	read.content = value
	return read, nil
}

func syntaxError(name string, err error) error {
	var known yaml.Error
	if errors.As(err, &known) && known.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", name, known.GetToken().Position.Line, known.GetMessage())
	}
	return fmt.Errorf("%s: %w", name, err)
}
