package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// MaxExpressionSize bounds a regular expression, in instructions of its compiled program. Repetitions count as often as
// they may occur. Matching takes at most this many steps for each character of the text.
const MaxExpressionSize = 1_000

// Expression is a regular expression in RE2 syntax, of bounded cost. It is safe for concurrent use.
type Expression struct {
	compiled *regexp.Regexp
	size     int
}

var errExpressionSize = errors.New("the expression is too large")

// NewExpression compiles a regular expression. It refuses one above MaxExpressionSize before compiling it.
func NewExpression(text string) (*Expression, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if isLarge(err) {
		return nil, errExpressionSize
	}
	if err != nil {
		return nil, err
	}
	size := instructions(parsed)
	if size > MaxExpressionSize {
		return nil, errExpressionSize
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Expression{compiled, size}, nil
}

// isLarge reports whether the parser refused an expression only because of its size. It refuses repetitions of more
// than 1,000 times with the same code as those that end before they begin, such as {5,2}.
func isLarge(err error) bool {
	refused, _ := errors.AsType[*syntax.Error](err)
	switch {
	case refused == nil:
		return false
	case refused.Code == syntax.ErrInvalidRepeatSize:
		var least, most int
		count, _ := fmt.Sscanf(refused.Expr, "{%d,%d}", &least, &most)
		return count < 2 || least <= most
	default:
		return refused.Code == syntax.ErrLarge || refused.Code == syntax.ErrNestingDepth
	}
}

// instructions estimates the length of an expression's program. It stops counting a little above MaxExpressionSize.
func instructions(e *syntax.Regexp) int {
	size := 1
	if e.Op == syntax.OpLiteral {
		size = len(e.Rune)
	}
	for _, sub := range e.Sub {
		size = min(size+instructions(sub), MaxExpressionSize+1)
	}
	if e.Op == syntax.OpRepeat {
		size = (size-1)*max(e.Min, e.Max, 1) + 1
	}
	return min(size, MaxExpressionSize+1)
}

// String returns the expression's text.
func (e *Expression) String() string { return e.compiled.String() }

// MatchString reports whether the text has a match.
func (e *Expression) MatchString(text string) bool { return e.compiled.MatchString(text) }

// Match reports whether the text has a match. It returns ctx.Err() if ctx has ended.
func (e *Expression) Match(ctx context.Context, text string) (bool, error) {
	matches := e.compiled.MatchReader(&interruptible{ctx: ctx, text: text})
	return matches, ctx.Err()
}

// Find returns the first match in the text, and whether there is one. It returns ctx.Err() if ctx has ended.
func (e *Expression) Find(ctx context.Context, text string) (match string, found bool, err error) {
	at := e.compiled.FindReaderIndex(&interruptible{ctx: ctx, text: text})
	if at == nil || ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	return text[at[0]:at[1]], true, nil
}

// interruptible reads a text until its end, or until the context ends.
type interruptible struct {
	ctx  context.Context
	text string
	at   int
	read int
}

// ReadRune returns the next character.
func (r *interruptible) ReadRune() (rune, int, error) {
	const often = 256
	if r.read++; r.read%often == 0 && r.ctx.Err() != nil || r.at >= len(r.text) {
		return 0, 0, io.EOF
	}
	character, size := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return character, size, nil
}
