package knowledge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"
	"github.com/stretchr/testify/require"
)

const prose = "the customer may return the kettle within thirty days of its delivery provided that a receipt " +
	"accompanies the parcel and that " +
	"nobody has used the kettle for anything but tea "

// proseLines returns lines of running text that fill a width, beginning with a word of the prose.
func proseLines(f *fpdf.Fpdf, count, from int, width float64) []string {
	words, lines, line := strings.Fields(prose), []string{}, ""
	for i := from; len(lines) < count; i++ {
		word := words[i%len(words)]
		if f.GetStringWidth(line+word) > width {
			lines, line = append(lines, strings.TrimSpace(line)), ""
		}
		line += word + " "
	}
	return lines
}

// Programs write the text of a page in any order. Here each row is written across all columns.
func TestReadColumnsOfPDF(t *testing.T) {
	t.Parallel()
	for columns := 2; columns <= 3; columns++ {
		var want []string
		content := pdf(t, func(f *fpdf.Fpdf) {
			f.AddPage()
			f.SetFont("Helvetica", "B", 18)
			f.Text(20, 20, "A title over all columns")
			f.SetFont("Helvetica", "", 9)
			width := 180 / float64(columns)
			var texts [][]string
			for c := range columns {
				lines := proseLines(f, 30-8*c, 5*c, width-8)
				texts = append(texts, lines)
				want = append(want, strings.Join(lines, " "))
			}
			for row := range texts[0] {
				for c, lines := range texts {
					if row < len(lines) {
						f.Text(20+float64(c)*width, 40+5*float64(row), lines[row])
					}
				}
			}
		})
		require.Equal(t, "A title over all columns\n"+strings.Join(want, " ")+"\n", read(t, "a.pdf", string(content)).
			String())
	}
}

func TestReadTablesOfPDFByRows(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]func(f *fpdf.Fpdf, i int) []string{
		"prices": func(_ *fpdf.Fpdf, i int) []string {
			return []string{"Kettle of steel " + strings.Repeat("x", i%5), "12.50 EUR", "in stock"}
		},
		"sentences": func(_ *fpdf.Fpdf, i int) []string {
			return []string{fmt.Sprint("Model number ", i), "Suitable for kitchens of medium size " + strings.Repeat("z", i%6)}
		},
		"long cells beside short ones": func(f *fpdf.Fpdf, i int) []string {
			line := proseLines(f, 1, 3*i, 70)[0]
			if i%4 > 1 {
				return []string{"", line}
			}
			return []string{proseLines(f, 1, 2*i, 60)[0], line}
		},
	} {
		var want strings.Builder
		content := pdf(t, func(f *fpdf.Fpdf) {
			f.AddPage()
			for i := range 24 {
				for c, cell := range row(f, i) {
					if cell != "" {
						f.Text(20+65*float64(c), 40+5*float64(i), cell)
						want.WriteString(cell + " ")
					}
				}
			}
		})
		got := strings.Join(strings.Fields(read(t, "a.pdf", string(content)).String()), " ")
		require.Equal(t, strings.Join(strings.Fields(want.String()), " "), got, name)
	}
}

// Each row is a line. Further lines of its cells belong to it, and text below the table does not.
func TestReadRowsOfTablesInPDFAsLines(t *testing.T) {
	t.Parallel()
	content := pdf(t, func(f *fpdf.Fpdf) {
		f.AddPage()
		f.Text(20, 35, "All prices are before tax.")
		for i, cells := range [][]string{{"Plan", "Period", "Price"}, {"Basic", "month", "10 EUR"},
			{"Setup fee", "", "25 EUR"}, {"", "", "per room and"}, {"", "", "guest"}, {"Premium", "year", "90 EUR"}} {
			for c, cell := range cells {
				if cell != "" {
					f.Text(20+50*float64(c), 40+5*float64(i), cell)
				}
			}
		}
		f.Text(20, 70, "Ask us for more, by mail or in the")
		f.Text(20, 75, "office on the ground floor.")
	})
	require.Equal(t, "All prices are before tax.\nPlan Period Price\nBasic month 10 EUR\nSetup fee 25 EUR per room and "+
		"guest\nPremium year 90 EUR\nAsk us for more, by mail or in the office on the ground floor.\n",
		read(t, "a.pdf", string(content)).String())
}

// Columns of short sentences, which could be cells, keep the order of the file.
func TestReadColumnsOfPDFInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	var want []string
	content := pdf(t, func(f *fpdf.Fpdf) {
		f.AddPage()
		for column := range 2 {
			for i := range 8 {
				text := fmt.Sprintf("Sentence %d of column %d stands here.", i, column)
				f.Text(20+90*float64(column), 40+5*float64(i), text)
				want = append(want, text)
			}
		}
	})
	got := strings.Fields(read(t, "a.pdf", string(content)).String())
	require.Equal(t, strings.Join(want, " "), strings.Join(got, " "))
}

func TestReadBrokenWordsOfPDF(t *testing.T) {
	t.Parallel()
	content := pdf(t, func(f *fpdf.Fpdf) {
		f.AddPage()
		for i, line := range []string{"Die Bestel-", "lung wird in der Liefer-", "zeit von 3-5 Tagen ver-",
			"sandt. Fragen Sie per E-", "Mail."} {
			f.Text(20, 40+5*float64(i), line)
		}
	})
	require.Equal(t, "Die Bestellung wird in der Lieferzeit von 3-5 Tagen versandt. Fragen Sie per E-Mail.\n",
		read(t, "a.pdf", string(content)).String())
}

// Word and LibreOffice write the bullets of Symbol and Wingdings as characters that only those fonts define.
func TestReadBulletsOfPDF(t *testing.T) {
	t.Parallel()
	const page = "BT /F 10 Tf 20 700 Td (\x01 one) Tj 0 -12 Td (\x01 two) Tj ET"
	content := paged(t, 1, page, "/ToUnicode 5 0 R", deflated(t, "", `/CIDInit /ProcSet findresource begin begincmap
1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfchar <01> <F0B7> endbfchar
1 beginbfrange <20> <7E> <0020> endbfrange endcmap`))
	require.Equal(t, "• one\n• two\n", read(t, "a.pdf", string(content)).String())
}

// A word that is broken at the end of a line loses its hyphen, unless the hyphen is part of the word.
func TestReadHyphensOfPDF(t *testing.T) {
	t.Parallel()
	content := pdf(t, func(f *fpdf.Fpdf) {
		f.AddPage()
		for i, text := range []string{
			"The part AB-1234-", "77 has a deli-", "very time of two days. Write an e-", "mail for the follow-",
			"up, or call 030-",
			"1234567. The follow-up is free, and so is the state-of-", "the-art support by Hans-", "Peter and the team.",
		} {
			f.Text(20, 40+5*float64(i), text)
		}
	})
	require.Equal(t, "The part AB-1234-77 has a delivery time of two days. Write an e-mail for the follow-up, or call "+
		"030-1234567. "+
		"The follow-up is free, and so is the state-of-the-art support by Hans-Peter and the team.\n",
		read(t, "a.pdf", string(content)).String())
}

// Lines at the top and bottom are dropped if most pages share them. Only the page number may differ.
func TestReadRunningLinesOfPDF(t *testing.T) {
	t.Parallel()
	const pages = 6
	for name, c := range map[string]struct {
		// first and last are formats with the page's index, from 0.
		first, last func(page int) string
		size        float64
		isKept      bool
	}{
		"page numbers": {first: func(i int) string { return fmt.Sprint("Handbook 2026, page ", i+1, " of 6") },
			last: func(i int) string { return fmt.Sprintf("- %d -", i+17) }},
		"the same lines": {first: func(int) string { return "Handbook" }, last: func(int) string { return "Tel. 0800 123" }},
		"other numbers": {first: func(i int) string { return fmt.Sprint("Model ", 100*(i+1)) },
			last: func(i int) string { return fmt.Sprint(120+15*i, " EUR per night") }, isKept: true},
		"titles in order": {first: func(i int) string { return fmt.Sprint("Article ", i+1) }, size: 16,
			last: func(i int) string { return fmt.Sprint("A warranty of ", 2+i%3, " years") }, isKept: true},
	} {
		var want []string
		content := pdf(t, func(f *fpdf.Fpdf) {
			for i := range pages {
				f.AddPage()
				body := fmt.Sprintf("Text %c of this page.", 'A'+i)
				f.SetFontSize(max(c.size, 11))
				f.Text(20, 20, c.first(i))
				f.SetFontSize(11)
				f.Text(20, 60, body)
				f.Text(20, 100, c.last(i))
				if c.isKept {
					want = append(want, c.first(i), body, c.last(i))
				} else {
					want = append(want, body)
				}
			}
		})
		got := strings.Fields(read(t, "a.pdf", string(content)).String())
		require.Equal(t, strings.Join(want, " "), strings.Join(got, " "), name)
	}
}

func TestReadPDFOfRunningLinesOnly(t *testing.T) {
	t.Parallel()
	content := pdf(t, func(f *fpdf.Fpdf) {
		for i := range 5 {
			f.AddPage()
			f.Text(20, 20, fmt.Sprint("Room ", 101+i))
		}
	})
	require.Equal(t, "Room 101\nRoom 102\nRoom 103\nRoom 104\nRoom 105\n", read(t, "a.pdf", string(content)).String())
}
