package knowledge

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxColumns = 10_000

// maxTitles bounds the rows among which the title and the header of a CSV are found.
const maxTitles = 20

// readCSV reads rows. Rows of one cell above wider rows are titles. The first row that is not a title is the header.
func readCSV(ctx context.Context, content []byte) (Text, error) {
	source, text, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	var header []string
	var first []gridRow
	titles, rows := 0, 0
	add := func(record []string) {
		if rows++; rows == 1 {
			header = record
			tidy(header)
			return
		}
		if text.unevenRow == 0 && len(record) != len(header) {
			text.unevenRow = titles + rows
		}
		text.addRow(header, record)
	}
	begin := func() {
		if len(first) == 0 {
			return
		}
		titles = titlesOfCSV(first)
		(&gridReader{text: &text, level: 1}).title(first[:titles])
		for _, row := range first[titles:] {
			add(row.texts())
		}
		first = nil
	}
	read := 0
	err = parseCSV(source, func(record []string) error {
		if read++; read <= maxTitles {
			first = append(first, csvRow(record))
		} else {
			begin()
			add(record)
		}
		if text.isFull() {
			return text.fault()
		}
		return ctx.Err()
	})
	begin()
	if rows == 1 {
		text.addRow(nil, header)
	}
	return text, err
}

func csvRow(record []string) gridRow {
	row := gridRow{cells: make([]gridCell, len(record))}
	for i, text := range record {
		row.cells[i] = gridCell{text: text, isNumber: startsWithDigit(text)}
	}
	return row
}

// titlesOfCSV counts the rows of one cell that would be titles in a spreadsheet.
func titlesOfCSV(rows []gridRow) int {
	titles := (&gridReader{grid: &grid{}}).titles(rows)
	for i, row := range rows[:titles] {
		if row.count() != 1 {
			return i
		}
	}
	if titles == len(rows) {
		return 0
	}
	return titles
}

const csvSeparators = ",;\t|"

// declaredSeparator returns the separator that the first line declares for Excel, as in "sep=;", and the text after
// that line. The separator is 0 if there is no such line.
func declaredSeparator(source string) (separator rune, rest string) {
	line, rest, _ := strings.Cut(source, "\n")
	declared, ok := strings.CutPrefix(strings.ToLower(strings.Trim(strings.TrimSuffix(line, "\r"), `"`)), "sep=")
	if ok && len(declared) == 1 && strings.Contains(csvSeparators, declared) {
		return rune(declared[0]), rest
	}
	return 0, source
}

// separator returns the separator of the columns: the one that makes most of the first rows equally long. Among equals,
// it returns the one that makes the most columns. Rows of one cell above the others are titles.
func separator(source string) rune {
	best, most := ',', [2]int{0, 1}
	for _, candidate := range csvSeparators {
		parser := newCSV(source[:min(len(source), 64<<10)], candidate)
		columns, wide, same := 0, 0, true
		for range 50 {
			record, err := parser.Read()
			if err != nil {
				break
			}
			if columns <= 1 {
				columns = len(record)
				same = same && (columns > 1 || isTitleOfCSV(record[0]))
			}
			if same = same && len(record) == columns; columns > 1 {
				wide++
			}
		}
		if !same {
			wide = 0
		}
		if found := [2]int{wide, columns}; slices.Compare(found[:], most[:]) > 0 {
			best, most = candidate, found
		}
	}
	return best
}

// isTitleOfCSV reports whether a row of one cell has no separator other than in running text, such as ", ".
func isTitleOfCSV(cell string) bool {
	for i := range len(cell) - 1 {
		if strings.IndexByte(csvSeparators, cell[i]) >= 0 && cell[i+1] != ' ' {
			return false
		}
	}
	return true
}

func newCSV(source string, separator rune) *csv.Reader {
	parser := csv.NewReader(strings.NewReader(source))
	parser.Comma, parser.LazyQuotes, parser.FieldsPerRecord = separator, true, -1
	return parser
}

// parseCSV calls the function keep with each record. It stops at the first error of keep and returns it.
func parseCSV(source string, keep func(record []string) error) error {
	for line := range strings.Lines(source) {
		if strings.Count(line, ",")+strings.Count(line, ";")+strings.Count(line, "\t")+
			strings.Count(line, "|") > maxColumns {
			return unreadable(fmt.Sprintf("a row of the CSV has more than %d columns", maxColumns))
		}
	}
	comma, source := declaredSeparator(source)
	if comma == 0 {
		comma = separator(source)
	}
	parser := newCSV(source, comma)
	last := int64(0)
	for {
		start := parser.InputOffset()
		record, err := parser.Read()
		if errors.Is(err, io.EOF) {
			if isQuoteOpen(source[last:], comma) {
				return unreadable("the CSV cannot be read: a quote is not closed")
			}
			return nil
		} else if err != nil {
			return fmt.Errorf("parse a CSV: %w", err)
		}
		last = start
		if err := keep(record); err != nil {
			return err
		}
	}
}

// isQuoteOpen reports whether the last record has an open quote, so that one more quote makes it well-formed.
func isQuoteOpen(record string, separator rune) bool {
	isWellFormed := func(record string) bool {
		parser := newCSV(record, separator)
		parser.LazyQuotes = false
		_, err := parser.ReadAll()
		return err == nil
	}
	return !isWellFormed(record) && isWellFormed(record+`"`)
}

const (
	// maxLevels bounds the nesting of JSON.
	maxLevels = 100
	// maxPath bounds the path of a nested value, in bytes.
	maxPath = 200
)

// readJSON reads one value, or one on each line. Each object of a list becomes a row with its names as the header. The
// name of a nested value is its path ("address.city"). A list of plain values is one cell.
func readJSON(ctx context.Context, content []byte) (Text, error) {
	source, text, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	d := jsonReader{ctx: ctx, text: text, source: source, decoder: json.NewDecoder(strings.NewReader(source))}
	d.decoder.UseNumber()
	for d.decoder.More() && !d.text.isFull() {
		var row Block
		if err := d.value("", &row, 0); err != nil {
			return Text{}, d.fault(err)
		}
		d.row(row)
	}
	if _, err := d.decoder.Token(); !errors.Is(err, io.EOF) && !d.text.isFull() {
		return Text{}, d.fault(err)
	}
	return d.text, nil
}

var errTooDeep = errors.New("too deep")

func (d *jsonReader) fault(err error) error {
	switch {
	case d.ctx.Err() != nil:
		return d.ctx.Err()
	case errors.Is(err, errTooDeep):
		return unreadable(fmt.Sprintf("the JSON is nested more than %d levels deep", maxLevels))
	}
	// The offset in the error itself does not count all tokens.
	source := strings.TrimRight(d.source, " \t\r\n")
	rest := strings.TrimLeft(source[min(int(d.decoder.InputOffset()), len(source)):], " \t\r\n,:")
	read := strings.TrimSuffix(source, rest)
	return unreadable(fmt.Sprintf("the JSON is not valid: see line %d", 1+strings.Count(read, "\n")))
}

type jsonReader struct {
	ctx     context.Context
	source  string
	decoder *json.Decoder
	text    Text
}

func (d *jsonReader) row(row Block) {
	if len(row.Cells) > 0 {
		for i, name := range row.Header {
			d.text.reserve(-cellSize(name, row.Cells[i]))
		}
		tidy(row.Header)
		d.text.addRow(row.Header, row.Cells)
	}
}

// value reads the next value into the row of its object.
func (d *jsonReader) value(path string, row *Block, level int) error {
	if level > maxLevels {
		return errTooDeep
	}
	if err := d.ctx.Err(); err != nil {
		return err
	}
	token, err := d.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return d.object(path, row, level)
	case json.Delim('['):
		return d.list(path, row, level)
	case nil:
		return nil
	}
	d.cell(row, path, fmt.Sprint(token))
	return nil
}

func (d *jsonReader) cell(row *Block, name, value string) {
	row.Header = append(row.Header, name)
	row.Cells = append(row.Cells, value)
	d.text.reserve(cellSize(name, value))
}

func cellSize(name, value string) int { return 2*cellCost + len(name) + len(value) }

func (d *jsonReader) object(path string, row *Block, level int) error {
	for d.decoder.More() && !d.text.isFull() {
		name, err := d.decoder.Token()
		if err != nil {
			return err
		}
		inner := fmt.Sprint(name)
		if path != "" {
			inner = path + "." + inner
		}
		if err := d.value(clip(inner, maxPath), row, level+1); err != nil {
			return err
		}
	}
	if d.text.isFull() {
		return nil
	}
	_, err := d.decoder.Token()
	return err
}

// list reads a list. Its plain values become one cell, and its objects and lists rows of their own.
func (d *jsonReader) list(path string, row *Block, level int) error {
	var plain []string
	for d.decoder.More() && !d.text.isFull() {
		var entry Block
		if err := d.value("", &entry, level+1); err != nil {
			return err
		}
		if len(entry.Cells) == 1 && entry.Header[0] == "" {
			plain = append(plain, entry.Cells[0])
			continue
		}
		d.row(entry)
	}
	if d.text.isFull() {
		return nil
	}
	if len(plain) > 0 {
		for _, value := range plain {
			d.text.reserve(-cellSize("", value))
		}
		d.cell(row, path, strings.Join(plain, ", "))
	}
	_, err := d.decoder.Token()
	return err
}

// clip cuts off the beginning of a text that has more bytes than the limit. The result begins with a whole
// character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
