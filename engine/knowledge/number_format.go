package knowledge

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFormat bounds a number format, in bytes, and maxDecimals its decimals. Excel allows 255 and 30.
const maxFormat, maxDecimals = 512, 30

// numberFormat is the number format of a spreadsheet's cell, such as `#,##0.00 "€";[Red]-#,##0.00 "€"`.
type numberFormat struct {
	sections []formatSection
}

type formatSection struct {
	parts []formatPart
	// comparison and bound are the section's condition, such as [<=9999]. comparison is empty if there is none.
	comparison string
	bound      float64
	// letters are the letters of a date or time, in lower case. isElapsed is set for durations, such as [h]:mm.
	letters   string
	isElapsed bool
	// isText is set if the section contains a cell's text, @, or General.
	isText, isExponent, isFraction bool
	// percents counts percent signs. thousands counts the trailing commas, each of which divides by 1,000.
	percents, thousands int
	// digits counts the placeholders before the decimal point, and decimals the ones after it. fixed counts the decimals
	// that show zeros.
	digits, decimals, fixed int
	isGrouped               bool
	// point and group are the separators.
	point, group string
}

// formatPart is literal text, or one placeholder: '0', '#', '?', '.' for the decimal point, or '@' for a cell's text or
// General.
type formatPart struct {
	placeholder byte
	literal     string
}

// parseFormat parses the code of a number format. A code that is too long counts as General.
func parseFormat(code string) *numberFormat {
	f := &numberFormat{}
	if len(code) > maxFormat {
		code = "General"
	}
	for len(f.sections) < 4 {
		p := formatParser{rest: code, section: formatSection{point: ".", group: ","}}
		p.parse()
		f.sections = append(f.sections, p.section)
		if p.rest == "" {
			break
		}
		code = p.rest[1:]
	}
	return f
}

type formatParser struct {
	rest     string
	section  formatSection
	inPoint  bool
	commas   int
	isNumber bool
}

// parse parses one section, up to its semicolon or the end.
func (p *formatParser) parse() {
	p.swapSeparators()
	for p.rest != "" && p.rest[0] != ';' {
		next := p.rest[0]
		switch {
		case next == '"':
			text, rest, _ := strings.Cut(p.rest[1:], `"`)
			p.literal(text)
			p.rest = rest
		case next == '[':
			inside, rest, _ := strings.Cut(p.rest[1:], "]")
			p.bracket(inside)
			p.rest = rest
		case next == '\\', next == '_', next == '*':
			p.escape(next)
		case len(p.rest) >= 7 && strings.EqualFold(p.rest[:7], "general"):
			p.section.parts = append(p.section.parts, formatPart{placeholder: '@'})
			p.section.isText, p.rest = true, p.rest[7:]
		case (next == 'E' || next == 'e') && p.isNumber && len(p.rest) > 1 && (p.rest[1] == '+' || p.rest[1] == '-'):
			p.section.isExponent, p.rest = true, p.rest[2:]
		default:
			p.sign(next)
		}
	}
	p.section.thousands = p.commas
}

// swapSeparators recognizes formats such as #.##0,00, written in a locale with a decimal comma.
func (p *formatParser) swapSeparators() {
	code, _, _ := strings.Cut(p.rest, ";")
	comma := strings.LastIndexByte(code, ',')
	if comma < 0 {
		return
	}
	decimals := 0
	for comma+1+decimals < len(code) && strings.IndexByte("0#?", code[comma+1+decimals]) >= 0 {
		decimals++
	}
	point := strings.IndexByte(code, '.')
	isOnly := point < 0 && strings.Count(code, ",") == 1
	if isOnly && (decimals == 1 || decimals == 2) || point >= 0 && point < comma && decimals > 0 {
		p.section.point, p.section.group = ",", "."
	}
}

func (p *formatParser) literal(text string) {
	p.section.parts = append(p.section.parts, formatPart{literal: text})
}

// escape parses a literal character after a backslash, a blank of a character's width, or a fill.
func (p *formatParser) escape(kind byte) {
	_, size := utf8.DecodeRuneInString(p.rest[1:])
	switch kind {
	case '\\':
		p.literal(p.rest[1 : 1+size])
	case '_':
		p.literal(" ")
	}
	p.rest = p.rest[1+size:]
}

// bracket parses a currency, a condition or an elapsed time. Colors are ignored.
func (p *formatParser) bracket(inside string) {
	switch {
	case inside == "":
	case inside[0] == '$':
		symbol, _, _ := strings.Cut(inside[1:], "-")
		p.literal(symbol)
	case strings.IndexByte("<>=", inside[0]) >= 0:
		number := strings.TrimLeft(inside, "<>=")
		if bound, err := strconv.ParseFloat(number, 64); err == nil {
			p.section.comparison, p.section.bound = strings.TrimSuffix(inside, number), bound
		}
	case strings.IndexByte("hmsHMS", inside[0]) >= 0 &&
		strings.Trim(strings.ToLower(inside), strings.ToLower(inside[:1])) == "":
		p.section.isElapsed = true
		p.section.letters += strings.ToLower(inside)
	}
}

// sign parses a placeholder, a letter of a date, or one literal character.
func (p *formatParser) sign(next byte) {
	_, size := utf8.DecodeRuneInString(p.rest)
	isDate := p.section.letters != ""
	switch {
	case strings.IndexByte("0#?", next) >= 0 && !isDate:
		p.isNumber = true
		p.placeholder(next)
	case next == p.section.point[0] && !isDate:
		p.section.parts = append(p.section.parts, formatPart{placeholder: '.'})
		p.inPoint = true
	case next == p.section.group[0] && !isDate && p.isNumber:
		p.commas++
	case next == '@':
		p.section.isText = true
		p.section.parts = append(p.section.parts, formatPart{placeholder: next})
	case next == '/' && p.isNumber:
		p.section.isFraction = true
	case strings.IndexByte("dmyhsDMYHS", next) >= 0 && !p.isNumber:
		p.section.letters += strings.ToLower(p.rest[:1])
	default:
		if next == '%' {
			p.section.percents++
		}
		p.literal(p.rest[:size])
	}
	p.rest = p.rest[size:]
}

func (p *formatParser) placeholder(kind byte) {
	s := &p.section
	s.parts = append(s.parts, formatPart{placeholder: kind})
	switch {
	case s.isExponent:
	case p.inPoint:
		if s.decimals++; kind != '#' {
			s.fixed = s.decimals
		}
	default:
		s.isGrouped = s.isGrouped || p.commas > 0
		s.digits++
	}
	p.commas = 0
}

// section returns the section for a number, and the number without the sign if the section implies it.
func (f *numberFormat) section(value float64) (formatSection, float64) {
	for i, s := range f.sections[:min(len(f.sections), 3)] {
		holds := false
		switch {
		case s.comparison != "":
			sign := "<=>"[cmp.Compare(value, s.bound)+1]
			holds = strings.IndexByte(s.comparison, sign) >= 0
		case i == 0:
			holds = value > 0 || value == 0 && len(f.sections) < 3 || value < 0 && len(f.sections) == 1
		case i == 1:
			holds = value < 0 || f.sections[0].comparison != ""
		default:
			holds = true
		}
		if holds {
			if i == 1 && s.comparison == "" && f.sections[0].comparison == "" {
				return s.negative(), -value
			}
			return s, value
		}
	}
	return f.sections[len(f.sections)-1], value
}

// negative returns the section for negative numbers. It adds a minus sign if only a color would mark them.
func (s formatSection) negative() formatSection {
	var literals strings.Builder
	for _, part := range s.parts {
		literals.WriteString(part.literal)
	}
	if s.digits+s.decimals > 0 && !strings.ContainsAny(literals.String(), "-(−–") {
		s.parts = append([]formatPart{{literal: "-"}}, s.parts...)
	}
	return s
}

func (s formatSection) number(value float64) string {
	switch {
	case s.isText:
		return strings.Join(strings.Fields(s.ofText(general(value))), " ")
	case s.isExponent:
		return strconv.FormatFloat(value, 'E', min(s.decimals, maxDecimals), 64)
	case s.isFraction:
		return general(value)
	}
	rational, ok := new(big.Rat).SetString(general(math.Abs(value)))
	if !ok {
		return general(value)
	}
	for range min(s.percents, 4) {
		rational.Mul(rational, big.NewRat(100, 1))
	}
	for range min(s.thousands, 4) {
		rational.Quo(rational, big.NewRat(1000, 1))
	}
	whole, decimals, _ := strings.Cut(rational.FloatString(min(s.decimals, maxDecimals)), ".")
	for len(decimals) > s.fixed && strings.HasSuffix(decimals, "0") {
		decimals = decimals[:len(decimals)-1]
	}
	sign := ""
	if value < 0 && strings.Trim(whole+decimals, "0") != "" {
		sign = "-"
	}
	return strings.Join(strings.Fields(sign+s.fill(whole, decimals)), " ")
}

// ofText returns a text between the literals of the section.
func (s formatSection) ofText(text string) string {
	var b strings.Builder
	for _, part := range s.parts {
		if part.placeholder == '@' {
			b.WriteString(text)
		}
		b.WriteString(part.literal)
	}
	return strings.TrimSpace(b.String())
}

func (s formatSection) fill(whole, decimals string) string {
	var b strings.Builder
	if whole == "0" && s.decimals == 0 {
		whole = ""
	}
	left, inPoint := s.digits, false
	for _, part := range s.parts {
		switch {
		case part.placeholder == 0:
			b.WriteString(part.literal)
		case part.placeholder == '.':
			if inPoint = true; s.digits == 0 {
				b.WriteString(whole)
			}
			if decimals != "" {
				b.WriteString(s.point + decimals)
			}
		case inPoint:
		default:
			digits := ""
			switch {
			case left == s.digits && len(whole) > left:
				digits = whole[:len(whole)-left+1]
			case left <= len(whole):
				digits = whole[len(whole)-left : len(whole)-left+1]
			case part.placeholder == '0':
				digits = "0"
			}
			s.digitsInGroups(&b, digits, left-1)
			left--
		}
	}
	return b.String()
}

// digitsInGroups writes digits with a separator between thousands. behind counts the digits that follow.
func (s formatSection) digitsInGroups(b *strings.Builder, digits string, behind int) {
	for i := range len(digits) {
		b.WriteByte(digits[i])
		if right := behind + len(digits) - 1 - i; s.isGrouped && right > 0 && right%3 == 0 {
			b.WriteString(s.group)
		}
	}
}

// general returns a number without a format. Like spreadsheets, it shows 15 digits, so that 0.1 + 0.2 is 0.3.
func general(value float64) string {
	if math.Abs(value) < 1e15 {
		value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 15, 64), 64)
	}
	if value == 0 {
		return "0"
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
