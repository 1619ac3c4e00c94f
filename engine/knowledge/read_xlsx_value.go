package knowledge

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// value returns the displayed value of the open cell.
func (x *xlsx) value() gridCell {
	text := x.cell.String()
	var style cellStyle
	if n, err := strconv.Atoi(x.style); err == nil && n >= 0 && n < len(x.styles) {
		style = x.styles[n]
	}
	cell := gridCell{isBold: style.isBold}
	if x.isFormula && text == "" && x.cellType != "str" && x.cellType != "s" {
		x.left.formula(x.sheet, x.row, x.column)
		return cell
	}
	switch x.cellType {
	case "s":
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(x.shared) {
			cell.text = x.textIn(style.format, x.shared[i])
		}
	case "b":
		cell.text, cell.isNumber = map[string]string{"1": "TRUE", "0": "FALSE"}[text], true
	case "e":
		x.left.fault(x.sheet, x.row, x.column, text)
	case "d":
		cell.text, cell.isNumber = strings.Replace(strings.TrimSuffix(text, "T00:00:00"), "T", " ", 1), true
	case "", "n":
		if number, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			cell.text, cell.isNumber = x.number(number, style.format), true
		}
	default:
		cell.text = x.textIn(style.format, unescaped(text))
	}
	return cell
}

func (x *xlsx) format(code string) *numberFormat {
	format := x.formats[code]
	if format == nil {
		if len(x.formats) >= 256 {
			clear(x.formats)
		}
		format = parseFormat(code)
		x.formats[code] = format
	}
	return format
}

// textIn returns a text in a format such as "No. "@. Only the last section of a format can apply to texts.
func (x *xlsx) textIn(code, text string) string {
	if text == "" || !strings.Contains(code, "@") || code == "@" {
		return text
	}
	sections := x.format(code).sections
	if last := sections[len(sections)-1]; last.isText {
		return last.ofText(text)
	}
	return text
}

func (x *xlsx) number(value float64, code string) string {
	if code == "" {
		return general(value)
	}
	section, shown := x.format(code).section(value)
	if section.letters != "" {
		return section.date(value, x.from1904)
	}
	return section.number(shown)
}

// date returns a number of days as a date, a time, or both, in ISO 8601.
func (s formatSection) date(days float64, from1904 bool) string {
	if s.isElapsed {
		return s.elapsed(days)
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days >= 1 && days < 60:
		// Spreadsheets count a February 29, 1900, which did not exist.
		first = first.AddDate(0, 0, 1)
	}
	if days < 0 || days > 3e6 {
		return general(days)
	}
	whole := int(days)
	at := first.AddDate(0, 0, whole).Add(time.Duration((days - float64(whole)) * float64(24*time.Hour))).Round(time.Second)
	clock := "15:04:05"
	if strings.Contains(s.letters, "h") && !strings.Contains(s.letters, "s") {
		clock = "15:04"
	}
	has := func(letter string) bool { return strings.Contains(s.letters, letter) }
	switch isTime := has("h") || has("s"); {
	case isTime && !has("d") && !has("y"), days < 1:
		return at.Format(clock)
	case !isTime && has("y") && !has("d") && !has("m"):
		return at.Format("2006")
	case !isTime && has("y") && !has("d"):
		return at.Format("2006-01")
	case at.Equal(at.Truncate(24 * time.Hour)):
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateOnly + " " + clock)
}

// elapsed returns a duration, whose hours or minutes may exceed 24 or 60.
func (s formatSection) elapsed(days float64) string {
	sign := ""
	if days < 0 {
		sign, days = "-", -days
	}
	seconds := int64(min(days, 1e9)*24*60*60 + 0.5)
	switch hasHours, hasSeconds := strings.Contains(s.letters, "h"), strings.Contains(s.letters, "s"); {
	case hasHours && hasSeconds:
		return fmt.Sprintf("%s%d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60)
	case hasHours:
		return fmt.Sprintf("%s%d:%02d", sign, seconds/3600, seconds/60%60)
	case strings.Contains(s.letters, "m") && hasSeconds:
		return fmt.Sprintf("%s%d:%02d", sign, seconds/60, seconds%60)
	case hasSeconds:
		return fmt.Sprint(sign, seconds)
	}
	return fmt.Sprint(sign, seconds/60)
}
