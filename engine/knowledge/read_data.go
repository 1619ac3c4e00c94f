package knowledge

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxColumns bounds the columns of a row.
const maxColumns = 10_000

// readCSV reads rows; the first is the header.
func readCSV(_ context.Context, content []byte) (Text, error) {
	source, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	records, err := parseCSV(source)
	if err != nil {
		return Text{}, err
	}
	var text Text
	if len(records) > 0 {
		text.addTable(records[0], records[1:])
	}
	return text, nil
}

// separator is what parts the columns: what makes all of the first rows equally long, else what makes most of the first.
func separator(source string) rune {
	const candidates = ",;\t|"
	best, most, even := ',', 1, false
	for _, candidate := range candidates {
		parser := newCSV(source[:min(len(source), 64<<10)], candidate)
		columns, same := 0, true
		for range 50 {
			record, err := parser.Read()
			if err != nil {
				break
			}
			if columns == 0 {
				columns = len(record)
			}
			same = same && len(record) == columns
		}
		if same = same && columns > 1; same && !even || same == even && columns > most {
			best, most, even = candidate, columns, same
		}
	}
	return best
}

func newCSV(source string, separator rune) *csv.Reader {
	parser := csv.NewReader(strings.NewReader(source))
	parser.Comma, parser.LazyQuotes, parser.FieldsPerRecord = separator, true, -1
	return parser
}

func parseCSV(source string) ([][]string, error) {
	for line := range strings.Lines(source) {
		if strings.Count(line, ",")+strings.Count(line, ";")+strings.Count(line, "\t") > maxColumns {
			return nil, unreadable(fmt.Sprintf("a row of the CSV has more than %d columns", maxColumns))
		}
	}
	comma := separator(source)
	parser := newCSV(source, comma)
	var records [][]string
	last := int64(0)
	for size := 0; size <= maxText; {
		start := parser.InputOffset()
		record, err := parser.Read()
		if errors.Is(err, io.EOF) {
			if isQuoteOpen(source[last:], comma) {
				return nil, unreadable("the CSV cannot be read: a quote is not closed")
			}
			break
		} else if err != nil {
			return nil, fmt.Errorf("parse a CSV: %w", err)
		}
		last = start
		size += len(record) * cellCost
		records = append(records, record)
	}
	return records, nil
}

// isQuoteOpen reports whether a quote of the last record is not closed: one more makes it well-formed.
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
	// maxLevels bounds how deep JSON may be nested.
	maxLevels = 100
	// maxPath bounds the name of a nested value, in bytes.
	maxPath = 200
)

// readJSON reads one value, or one on each line. Each object of a list becomes a row, whose header holds the names:
// what lies deeper has the path as its name ("address.city"). Lists of plain values are one cell.
func readJSON(ctx context.Context, content []byte) (Text, error) {
	source, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	d := jsonReader{ctx: ctx, decoder: json.NewDecoder(strings.NewReader(source))}
	d.decoder.UseNumber()
	for d.decoder.More() && !d.text.full() {
		var row Block
		if err := d.value("", &row, 0); err != nil {
			return Text{}, d.fault(err)
		}
		d.row(row)
	}
	if _, err := d.decoder.Token(); !errors.Is(err, io.EOF) && !d.text.full() {
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
	return unreadable("the JSON is not valid")
}

type jsonReader struct {
	ctx     context.Context
	decoder *json.Decoder
	text    Text
}

// row keeps what was gathered of an object.
func (d *jsonReader) row(row Block) {
	if len(row.Cells) > 0 {
		row.Kind = Row
		d.text.addTable(row.Header, [][]string{row.Cells})
	}
}

// value reads the next value into the row of the object that it belongs to.
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
	row.Header = append(row.Header, path)
	row.Cells = append(row.Cells, fmt.Sprint(token))
	return nil
}

func (d *jsonReader) object(path string, row *Block, level int) error {
	for d.decoder.More() {
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
	_, err := d.decoder.Token()
	return err
}

// list reads a list. Its plain values are one cell; its objects and lists are rows of their own.
func (d *jsonReader) list(path string, row *Block, level int) error {
	var plain []string
	for d.decoder.More() && !d.text.full() {
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
	if len(plain) > 0 {
		row.Header = append(row.Header, path)
		row.Cells = append(row.Cells, strings.Join(plain, ", "))
	}
	if d.text.full() {
		return nil
	}
	_, err := d.decoder.Token()
	return err
}

// clip is the end of a text, of at most so many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
