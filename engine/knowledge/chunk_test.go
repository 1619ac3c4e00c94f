package knowledge_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func config(tokens int32, delimiter string) model.ParserConfig {
	return model.ParserConfig{ChunkTokenNum: tokens, Delimiter: delimiter}
}

// read reads a file and requires success.
func read(t testing.TB, name, content string) knowledge.Text {
	t.Helper()
	text, err := knowledge.Read(t.Context(), name, "", []byte(content))
	require.NoError(t, err)
	return text
}

// cut splits the content with a chunk method, and returns the pieces and the chunker's note.
func cut(t testing.TB, name, content, method string, c model.ParserConfig) ([]string, string) {
	t.Helper()
	pieces, note, err := knowledge.Chunk(t.Context(), read(t, name, content), method, c)
	require.NoError(t, err)
	var contents []string
	for _, p := range pieces {
		require.Positive(t, p.Tokens)
		contents = append(contents, p.Content)
	}
	return contents, note
}

func counter(t testing.TB) func(text string) int {
	tokens := codec.NewCl100kBase()
	return func(text string) int {
		n, err := tokens.Count(text)
		require.NoError(t, err)
		return n
	}
}

// visible returns a text without its white space.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

func TestNaiveChunksAreCompleteAndBounded(t *testing.T) {
	t.Parallel()
	count := counter(t)
	words := rapid.SampledFrom([]string{
		"remboursement", "order", "été", "漢字", "👩‍👩‍👧‍👦", "e\u0301\u0301", "##", ";", ".", "!", "\n", "\n\n", " ", "\t", "x1",
		"`", "a.b", "?", "supercalifragilistic",
	})
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOfN(words, 1, 200).Draw(t, "words"), rapid.SampledFrom([]string{"", " "}).
			Draw(t, "between"))
		limit := rapid.Int32Range(1, 64).Draw(t, "limit")
		delimiter := rapid.SampledFrom([]string{"\n", "\n`##`;", "`supercali`", ".!?", "§", "`"}).Draw(t, "delimiter")
		text := knowledge.Text{Blocks: []knowledge.Block{{Text: content}}}
		pieces, note, err := knowledge.Chunk(t.Context(), text, "naive", config(limit, delimiter))
		require.NoError(t, err)
		require.Empty(t, note)
		var whole strings.Builder
		for _, p := range pieces {
			require.NotEmpty(t, strings.TrimSpace(p.Content))
			require.True(t, utf8.ValidString(p.Content))
			// Characters are not split, and the tokens of joined texts may be more than those of the parts.
			require.LessOrEqual(t, count(p.Content), int(limit)+12, "%q", p.Content)
			require.LessOrEqual(t, p.Tokens, int(limit)+12)
			whole.WriteString(p.Content)
		}
		require.Equal(t, visible(content), visible(whole.String()))
	})
}

func TestNaiveCutsAtDelimitersAndMerges(t *testing.T) {
	t.Parallel()
	// NewDataset decodes the escapes in the delimiter.
	delimiter, tokens := "\\n`##`;", int32(9)
	dataset, err := model.NewDataset(model.CreateDatasetInput{
		Name: "d", ParserConfig: &model.ParserConfigInput{Delimiter: &delimiter, ChunkTokenNum: &tokens},
	}, time.Now())
	require.NoError(t, err)
	got, note := cut(t, "a.txt", "one two three; four five six\nseven eight nine ## ten # eleven twelve thirteen", "naive",
		dataset.ParserConfig)
	require.Empty(t, note)
	want := []string{"one two three; four five six", "seven eight nine ##", "ten # eleven twelve thirteen"}
	require.Empty(t, cmp.Diff(want, got))
}

func TestNaiveCutsTextWithoutDelimiters(t *testing.T) {
	t.Parallel()
	sentences := strings.Repeat("The parcel left the warehouse on Monday morning. ", 8)
	got, _ := cut(t, "a.txt", sentences, "naive", config(20, "\n"))
	require.Len(t, got, 4)
	for _, piece := range got {
		require.True(t, strings.HasSuffix(piece, "morning."), "cut between sentences: %q", piece)
	}
	got, _ = cut(t, "a.txt", strings.Repeat("parcel ", 100), "naive", config(20, "\n"))
	require.Len(t, got, 5, "a sentence without end is cut between words")
	require.NotContains(t, strings.Fields(strings.Join(got, " ")), "par")
	got, _ = cut(t, "a.txt", strings.Repeat("👩‍👩‍👧‍👦", 20), "naive", config(40, "\n"))
	for _, piece := range got {
		require.Empty(t, strings.ReplaceAll(piece, "👩‍👩‍👧‍👦", ""), "families stay together")
	}
}

func TestPairsBecomeChunks(t *testing.T) {
	t.Parallel()
	en := []string{"Can I return a lamp?\nYes, within 30 days.\nKeep the receipt.", "Do you ship to Spain?\nWe do."}
	fr := []string{"Puis-je annuler ?\nOui, avant midi.", "Livrez-vous le samedi ?\nNon."}
	for name, c := range map[string]struct {
		file, content string
		want          []string
	}{
		"marks": {"a.txt", "Q: Can I return a lamp?\nA: Yes, within 30 days.\nKeep the receipt.\n\nQ: Do you " +
			"ship to Spain?\nA: We do.", en},
		"numbered marks": {"a.txt", "Question 1: Can I return a lamp?\nAnswer 1: Yes, within 30 days.\nKeep the " +
			"receipt.\nQuestion 2: Do you ship to Spain?\nAnswer 2: We do.", en},
		"markdown": {"a.md", "**Q:** Can I return a lamp?\n**A:** Yes, within 30 days.\nKeep the receipt.\n\n**Q:** " +
			"Do you ship to Spain?\n\n**A:** We do.", en},
		"french": {"a.txt", "Question : Puis-je annuler ?\nRéponse : Oui, avant midi.\n\nQ. Livrez-vous le samedi " +
			"?\nR. Non.", fr},
		"tabs": {"a.txt", "Puis-je annuler ?\tOui, avant midi.\nLivrez-vous le samedi ?\tNon.", fr},
		"csv":  {"a.csv", "Puis-je annuler ?;\"Oui, avant midi.\"\nLivrez-vous le samedi ?;Non.\n", fr},
		"csv with titles": {"a.csv", "id,Réponse,Question\n1,\"Oui, avant midi.\",Puis-je annuler ?\n2,Non.,Livrez-vous le " +
			"samedi ?\n", fr},
		"json": {"a.json",
			`[{"question":"Puis-je annuler ?","answer":"Oui, avant midi."},{"question":"Livrez-vous le samedi ?","answer":"Non."}]`, fr},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, note := cut(t, c.file, c.content, "qa", config(512, "\n"))
			require.Empty(t, cmp.Diff(c.want, got))
			require.Empty(t, note)
		})
	}
}

func TestPairsFallBackToHeadingsOrNaive(t *testing.T) {
	t.Parallel()
	got, note := cut(t, "a.md", "# FAQ\n\n## Can I return a lamp?\n\nYes.\n\n## Do you ship to Spain?\n\nWe do.", "qa",
		config(512, "\n"))
	require.Empty(t, cmp.Diff([]string{"FAQ > Can I return a lamp?\nYes.", "FAQ > Do you ship to Spain?\nWe do."}, got))
	require.Contains(t, note, "each heading was used as a question")

	got, note = cut(t, "a.txt", "Only a sentence.", "qa", config(512, "\n"))
	require.Equal(t, []string{"Only a sentence."}, got)
	require.Contains(t, note, "no questions and answers")

	got, note = cut(t, "a.txt", "Our answers.\n\nQ: Lamps?\nA: Yes.\n\nQ: Without an answer?", "qa", config(512, "\n"))
	require.Equal(t, []string{"Our answers.", "Lamps?\nYes.", "Without an answer?"}, got)
	require.Empty(t, note)

	long := "Q: Lamps?\nA: " + strings.Repeat("Yes, every lamp that we ever sold. ", 400)
	got, _ = cut(t, "a.txt", long, "qa", config(512, "\n"))
	require.Greater(t, len(got), 1)
	for _, piece := range got {
		require.True(t, strings.HasPrefix(piece, "Lamps?\n"), "each piece of a long answer begins with the question")
	}
}

func TestTableRowsBecomeChunks(t *testing.T) {
	t.Parallel()
	want := []string{"Article: Lampe; Prix: 12,50 €; Stock: 3", "Article: Chaise; Prix: 49 €"}
	for name, content := range map[string]string{
		"a.csv": "Article;Prix;Stock\nLampe;12,50 €;3\nChaise;49 €;\n",
		"a.tsv": "Article\tPrix\tStock\nLampe\t12,50 €\t3\nChaise\t49 €\t\n",
		"a.txt": "Article;Prix;Stock\nLampe;12,50 €;3\nChaise;49 €;\n",
		"a.md":  "| Article | Prix | Stock |\n|---|--:|---|\n| Lampe | 12,50 € | 3 |\n| Chaise | 49 € | |\n",
		"a.html": "<table><tr><th>Article<th>Prix<th>Stock<tr><td>Lampe<td>12,50&nbsp;€<td>3<tr><td>Chaise<td>49 " +
			"€<td></table>",
		"b.html": "<table><tr><td>Article<td>Prix<td>Stock<tr><td>Lampe<td>12,50 €<td>3<tr><td>Chaise<td>49 €<td></table>",
		"a.json": `[{"Article":"Lampe","Prix":"12,50 €","Stock":3},{"Article":"Chaise","Prix":"49 €","Stock":null}]`,
	} {
		got, note := cut(t, name, content, "table", config(1, "\n"))
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "\u00A0", " ")
		}
		require.Empty(t, cmp.Diff(want, got), name)
		require.Empty(t, note)
	}
	got, note := cut(t, "a.md", "Prices of May.\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\nWithout tax.", "table",
		config(512, "\n"))
	require.Equal(t, []string{"Prices of May.", "A: 1; B: 2", "Without tax."}, got)
	require.Empty(t, note)
	got, note = cut(t, "a.txt", "No rows here.", "table", config(512, "\n"))
	require.Equal(t, []string{"No rows here."}, got)
	require.Contains(t, note, "no table")
}

func TestOneKeepsTheDocumentInOneChunk(t *testing.T) {
	t.Parallel()
	got, note := cut(t, "a.txt", strings.Repeat("A line.\n\n", 1000), "one", config(16, "\n"))
	require.Len(t, got, 1)
	require.Empty(t, note)
	got, note = cut(t, "a.txt", strings.Repeat("A longer line of text.\n\n", 20_000), "one", config(16, "\n"))
	require.Greater(t, len(got), 1)
	require.Contains(t, note, "too much for one chunk")
}

func TestUnsupportedMethodsFallBackToNaive(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"email", "picture", "presentation", "tag"} {
		got, note := cut(t, "a.txt", "Some text.", method, config(16, "\n"))
		require.Equal(t, []string{"Some text."}, got)
		require.Contains(t, note, method)
	}
}

func TestSectionsBecomeChunks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, method, content string
		want                  []string
	}{
		"markdown": {
			"a.md", "manual", "# Lamp\n\nHello.\n\n## Setup\n\n1. Unpack.\n2. Plug in.\n\n### Wall\n\nDrill.\n\n## " +
				"Care\n\nDust it.",
			[]string{"Lamp\nHello.", "Lamp > Setup\n1. Unpack.\n2. Plug in.", "Lamp > Setup > Wall\nDrill.",
				"Lamp > Care\nDust it."},
		},
		"numbers": {
			"a.txt", "manual", "1. Setup\n\nDo this:\n\n1. Unpack the lamp.\n2. Plug it in.\n\n1.1 On the " +
				"wall\n\nDrill.\n\n2. Care\nDust it.",
			[]string{"1. Setup\nDo this:\n1. Unpack the lamp.\n2. Plug it in.", "1. Setup > 1.1 On the wall\nDrill.",
				"2. Care\nDust it."},
		},
		"hashes in plain text": {
			"a.txt", "manual", "# Lampe\nBonjour.\n## Entretien\nDépoussiérer.",
			[]string{"Lampe\nBonjour.", "Lampe > Entretien\nDépoussiérer."},
		},
		"book": {
			"a.txt", "book", "Part One\n\nChapter 1: The Door\n\nIt was open.\n\nChapter 2\n\nIt was shut.\n\nPart " +
				"Two\n\nChapter 3\n\nIt was gone.",
			[]string{"Part One > Chapter 1: The Door\nIt was open.", "Part One > Chapter 2\nIt was shut.",
				"Part Two > Chapter 3\nIt was gone."},
		},
		"livre": {
			"a.txt", "book", "Première partie\n\nChapitre premier\n\nElle était ouverte.\n\nChapitre II — La clef\n\nElle " +
				"était fermée.",
			[]string{"Première partie > Chapitre premier\nElle était ouverte.",
				"Première partie > Chapitre II — La clef\nElle était fermée."},
		},
		"laws": {
			"a.txt", "laws", "Chapter I General\n\nArticle 1\nScope of these terms.\n\nArticle 2. The customer may " +
				"cancel.\nIn writing.\n\nChapter II Payment\n\n§ 3 Due date\nThirty days. Article 2 of the law applies.",
			[]string{"Chapter I General > Article 1\nScope of these terms.",
				"Chapter I General\nArticle 2. The customer may cancel.\nIn writing.",
				"Chapter II Payment > § 3 Due date\nThirty days. Article 2 of the law applies."},
		},
		"lois": {
			"a.md", "laws", "# Conditions\n\nTitre Ier : Objet\n\nArticle 1er - Les parties\n\nLe vendeur et le " +
				"client.\n\nArticle L. 121-2 : le client peut annuler.\n\nSection 2 Paiement\n\nArt. 3\n\nÀ trente jours.",
			[]string{"Conditions > Titre Ier : Objet > Article 1er - Les parties\nLe vendeur et le client.",
				"Conditions > Titre Ier : Objet\nArticle L. 121-2 : le client peut annuler.",
				"Conditions > Titre Ier : Objet > Section 2 Paiement > Art. 3\nÀ trente jours."},
		},
		"paper": {
			"a.txt", "paper", "Abstract\nWe measure lamps.\n\n1 Introduction\nLamps shine.\n\n1.1 Why\nBecause.\n\nII. " +
				"Method\nWe look.\n\nReferences\nNone.",
			[]string{"Abstract\nWe measure lamps.", "1 Introduction\nLamps shine.", "1 Introduction > 1.1 Why\nBecause.",
				"II. Method\nWe look.", "References\nNone."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, note := cut(t, c.file, c.content, c.method, config(512, "\n"))
			require.Empty(t, note)
			require.Empty(t, cmp.Diff(c.want, got))
		})
	}
}

func TestSectionsKeepTheirPathInEveryChunk(t *testing.T) {
	t.Parallel()
	content := "# Handbook\n\n## Returns\n\n" + strings.Repeat("A lamp may come back within thirty days. ", 40)
	got, _ := cut(t, "a.md", content, "manual", config(64, "\n"))
	require.Greater(t, len(got), 5)
	for _, piece := range got {
		require.True(t, strings.HasPrefix(piece, "Handbook > Returns\nA lamp"), piece)
		require.LessOrEqual(t, counter(t)(piece), 66)
	}
	got, _ = cut(t, "a.md", "# "+strings.Repeat("A long title ", 40)+"\n\n## Short\n\nText.\n\n## Last", "manual",
		config(16, "\n"))
	require.Contains(t, got, "Short\nText.", "a path that is too long lacks its outermost headings")
	require.Contains(t, got, "Last", "a heading with nothing under it is kept")
	_, note := cut(t, "a.txt", "no headings at all", "laws", config(16, "\n"))
	require.Contains(t, note, "no headings")
}

// BenchmarkChunk also measures counting the tokens of the whole text, because splitting needs that.
func BenchmarkChunk(b *testing.B) {
	text := read(b, "a.txt", strings.Repeat("The customer may return a lamp within thirty days of its delivery. "+
		"Le client peut demander le remboursement de sa commande.\n\n", 8_000))
	size := len(text.String())
	for _, method := range []string{"naive", "manual"} {
		b.Run(method, func(b *testing.B) {
			b.SetBytes(int64(size))
			chunks := 0
			for b.Loop() {
				pieces, _, err := knowledge.Chunk(b.Context(), text, method, config(512, "\n"))
				require.NoError(b, err)
				chunks += len(pieces)
			}
			b.ReportMetric(float64(chunks)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
	b.Run("tokens alone", func(b *testing.B) {
		count, whole := counter(b), text.String()
		b.SetBytes(int64(size))
		for b.Loop() {
			count(whole)
		}
	})
}
