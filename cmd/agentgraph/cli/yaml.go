package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of YAML files. A small file may expand to a very large one through aliases, and the time to parse nested lists
// grows with the square of their depth.
const (
	// MaxYAML is the maximum size of a file, in bytes.
	MaxYAML = 8 << 20
	// maxTokens is the maximum number of tokens.
	maxTokens = 2_000_000
	// maxDepth is the maximum nesting of lists and mappings.
	maxDepth = 100
	// maxNodes and maxText bound the number of values and their size in bytes, with all aliases expanded.
	maxNodes, maxText = 2_000_000, 64 << 20
)

// DecodeText returns the text of a file without a byte order mark, which some editors and shells write first. If a
// line is not UTF-8, it returns an error with the number of the line.
func DecodeText(content []byte) ([]byte, error) {
	n := 0
	for line := range bytes.Lines(content) {
		n++
		if err := CheckLine(string(line), n); err != nil {
			return nil, err
		}
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}

// ReadText reads a text of at most limit bytes, as DecodeText returns it.
func ReadText(in io.Reader, limit int) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(content) > limit {
		return nil, fmt.Errorf("has more than %d bytes", limit)
	}
	return DecodeText(content)
}

// ReadInput reads a text as ReadText does, from the file or, for "-", from in. Errors do not name the file.
func ReadInput(path string, in io.Reader, limit int) ([]byte, error) {
	if path == "-" {
		return ReadText(in, limit)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer func() { _ = file.Close() }()
	return ReadText(file, limit)
}

// ReadFile reads the text of a file, as DecodeText returns it.
func ReadFile(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return DecodeText(content)
}

// CheckLine returns an error with the number of the line if it is not UTF-8.
func CheckLine(line string, number int) error {
	if !utf8.ValidString(line) {
		return fmt.Errorf("line %d is not UTF-8: save the file with the encoding UTF-8", number)
	}
	return nil
}

// ParseYAML parses a file with a single document, and expands its merge keys. It ignores a byte order mark, and
// refuses files that are beyond the limits or not UTF-8, and numbers that CheckDigits refuses. The document is nil if
// the file is empty.
func ParseYAML(text []byte) (ast.Node, error) {
	if len(text) > MaxYAML {
		return nil, fmt.Errorf("must have at most %[2]d bytes, not %[1]d", len(text), MaxYAML)
	}
	text, err := DecodeText(text)
	if err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(text))
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, err
	}
	var root ast.Node
	for _, document := range parsed.Docs {
		if document.Body == nil {
			continue
		}
		if root != nil {
			return nil, &yaml.SyntaxError{Message: "must hold a single document", Token: document.Body.GetToken()}
		}
		root = document.Body
	}
	w := weigher{anchors: map[string]weight{}}
	if w.weigh(root, 0); w.err != nil {
		return nil, w.err
	}
	return root, (&merger{anchors: map[string]ast.Node{}}).expand(root)
}

// DecodeYAML decodes a file with a single document. It refuses files beyond the limits.
func DecodeYAML(text []byte, into any, options ...yaml.DecodeOption) error {
	root, err := ParseYAML(text)
	if err != nil || root == nil {
		return err
	}
	return yaml.NodeToValue(root, into, options...)
}

// checkTokens refuses too many tokens, and nesting that would make the parser slow.
func checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return fmt.Errorf("has more than %d tokens", maxTokens)
	}
	open, line, inLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, inLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			inLine++
		default:
			inLine = 0
		}
		if open+inLine > maxDepth {
			return tooDeep(t)
		}
	}
	return nil
}

func tooDeep(at *token.Token) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf("is nested deeper than %d levels", maxDepth), Token: at}
}

// checkDigits records an error if the node is a number that CheckDigits refuses.
func (w *weigher) checkDigits(node ast.Node) {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		if err := CheckDigits(node.GetToken().Value); err != nil {
			w.err = &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
		}
	}
}

// LostDigits is the error for a number that the decoder would change. Its text is the number.
type LostDigits string

func (n LostDigits) Error() string {
	return fmt.Sprintf("the number %s would be changed: put it in quotes to keep its digits", string(n))
}

// CheckDigits returns LostDigits for a number with leading zeros, which may be read as octal, and for an integer beyond
// 64 bits, which would be rounded.
func CheckDigits(number string) error {
	digits := strings.TrimLeft(number, "+-")
	_, err := strconv.ParseInt(number, 0, 64)
	if len(digits) > 1 && digits[0] == '0' && strings.IndexByte("0123456789_", digits[1]) >= 0 ||
		errors.Is(err, strconv.ErrRange) {
		return LostDigits(number)
	}
	return nil
}

// weight is the size of a node with all aliases expanded.
type weight struct {
	nodes, text int
	// depth is how many levels are below the node.
	depth int
}

func (w *weight) addChild(below weight) {
	w.nodes, w.text, w.depth = w.nodes+below.nodes, w.text+below.text, max(w.depth, below.depth+1)
}

// weigher computes the weights of nodes. It stops at the first error.
type weigher struct {
	anchors map[string]weight
	err     error
}

func (w *weigher) weigh(node ast.Node, depth int) (total weight) {
	if node == nil || w.err != nil {
		return total
	}
	total.nodes = 1
	if t := node.GetToken(); t != nil {
		total.text = len(t.Value)
	}
	switch n := node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		w.checkDigits(n)
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		total = w.weigh(n.Value, depth)
		w.anchors[name] = total
	case *ast.AliasNode:
		total = w.anchors[n.Value.GetToken().Value]
	case *ast.TagNode:
		total = w.weigh(n.Value, depth)
	case *ast.MappingNode:
		for _, value := range n.Values {
			total.addChild(w.weigh(value, depth))
		}
	case *ast.MappingValueNode:
		total.addChild(w.weigh(n.Value, depth+1))
		total.text += len(n.Key.String())
		w.checkDigits(n.Key)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			total.addChild(w.weigh(value, depth+1))
		}
	}
	switch {
	case w.err != nil:
	case depth+total.depth > 2*maxDepth:
		w.err = tooDeep(node.GetToken())
	case total.nodes > maxNodes || total.text > maxText:
		w.err = &yaml.SyntaxError{
			Message: fmt.Sprintf("has more than %d values or %d bytes once its aliases are expanded", maxNodes, maxText),
			Token:   node.GetToken(),
		}
	}
	return total
}

// merger expands merge keys, such as "<<: *base". A mapping's own keys take precedence at any position, then the keys
// of the first merged mapping. The decoder alone would keep duplicates.
type merger struct {
	anchors map[string]ast.Node
}

func (m *merger) expand(node ast.Node) error {
	switch n := node.(type) {
	case *ast.AnchorNode:
		err := m.expand(n.Value)
		// The anchor is not defined within its own node.
		m.anchors[n.Name.GetToken().Value] = n.Value
		return err
	case *ast.TagNode:
		return m.expand(n.Value)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			if err := m.expand(value); err != nil {
				return err
			}
		}
	case *ast.MappingNode:
		return m.mapping(n)
	}
	return nil
}

func (m *merger) mapping(n *ast.MappingNode) error {
	own, merges := map[string]bool{}, false
	for _, value := range n.Values {
		if err := m.expand(value.Value); err != nil {
			return err
		}
		if value.Key.IsMergeKey() {
			merges = true
		} else {
			own[value.Key.GetToken().Value] = true
		}
	}
	if !merges {
		return nil
	}
	var all []*ast.MappingValueNode
	for _, value := range n.Values {
		if !value.Key.IsMergeKey() {
			all = append(all, value)
			continue
		}
		merged, err := m.mergeValues(value.Value, true)
		if err != nil {
			return err
		}
		for _, one := range merged {
			if key := one.Key.GetToken().Value; !own[key] {
				all, own[key] = append(all, one), true
			}
		}
	}
	n.Values = all
	return nil
}

// mergeValues returns the values of the mapping that a merge key refers to, or of a list of mappings if mayBeList is
// set.
func (m *merger) mergeValues(node ast.Node, mayBeList bool) (all []*ast.MappingValueNode, err error) {
	switch n := node.(type) {
	case *ast.AnchorNode:
		return m.mergeValues(n.Value, mayBeList)
	case *ast.AliasNode:
		if named := m.anchors[n.Value.GetToken().Value]; named != nil {
			return m.mergeValues(named, mayBeList)
		}
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.SequenceNode:
		if !mayBeList {
			break
		}
		for _, value := range n.Values {
			values, err := m.mergeValues(value, false)
			if err != nil {
				return nil, err
			}
			all = append(all, values...)
		}
		return all, nil
	}
	return nil, &yaml.SyntaxError{Message: "<< must name a mapping, or a list of mappings", Token: node.GetToken()}
}
