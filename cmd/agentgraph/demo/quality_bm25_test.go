package demo

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The usual parameters of BM25: k1, which limits the effect of a word's frequency, and b, the weight of a chunk's
// length.
const frequencyBound, lengthShare = 1.2, 0.75

// counted is a chunk with the frequency of each stem.
type counted struct {
	found
	stems  map[string]float64
	length float64
}

// stemsOfChunks lets Postgres tokenize and stem the chunks. A lexeme has a position for each occurrence.
const stemsOfChunks = `SELECT documents.name, chunks.content,
		coalesce(array_agg(stem.lexeme) FILTER (WHERE stem.lexeme IS NOT NULL), '{}'),
		coalesce(array_agg(cardinality(stem.positions)::float8) FILTER (WHERE stem.lexeme IS NOT NULL),
			'{}') ` + chunksOfChat + `
	LEFT JOIN LATERAL unnest(to_tsvector($1::regconfig, chunks.content)) AS stem ON true
	WHERE connected.chat_id = $2 GROUP BY documents.id, documents.name, chunks.id, chunks.position, chunks.content
	ORDER BY documents.id, chunks.position`

// bm25 ranks by Okapi BM25 over the stems of the question's language. Ties are ordered by document and position.
func (l library) bm25(t *testing.T, a asked) []found {
	t.Helper()
	var stems []string
	require.NoError(t, l.conn.QueryRow(t.Context(), "SELECT tsvector_to_array(to_tsvector($1::regconfig, $2))",
		configurations[a.Language], a.Question).Scan(&stems))
	rows, err := l.conn.Query(t.Context(), stemsOfChunks, configurations[a.Language], l.chats[a.Chat].ID)
	require.NoError(t, err)
	chunks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (counted, error) {
		c := counted{stems: map[string]float64{}}
		var stems []string
		var counts []float64
		err := row.Scan(&c.document, &c.content, &stems, &counts)
		for i, stem := range stems {
			c.stems[stem] = counts[i]
			c.length += counts[i]
		}
		return c, err
	})
	require.NoError(t, err)
	return rankByBM25(stems, chunks)
}

// rankByBM25 returns the chunks that have any of the stems, best first.
func rankByBM25(stems []string, chunks []counted) []found {
	var length float64
	for _, c := range chunks {
		length += c.length / float64(len(chunks))
	}
	rarity := map[string]float64{}
	for _, stem := range stems {
		holders := 0.0
		for _, c := range chunks {
			if c.stems[stem] > 0 {
				holders++
			}
		}
		rarity[stem] = math.Log(1 + (float64(len(chunks))-holders+0.5)/(holders+0.5))
	}
	ranked := []found{}
	for _, c := range chunks {
		for _, stem := range stems {
			times := c.stems[stem]
			c.score += rarity[stem] * times * (frequencyBound + 1) / (times +
				frequencyBound*(1-lengthShare+lengthShare*c.length/length))
		}
		if c.score > 0 {
			ranked = append(ranked, c.found)
		}
	}
	slices.SortStableFunc(ranked, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return ranked
}

func TestBM25RanksByFrequencyAndLength(t *testing.T) {
	t.Parallel()
	chunk := func(content string, stems map[string]float64, length float64) counted {
		return counted{found{content: content}, stems, length}
	}
	ranked := rankByBM25([]string{"kettl", "blue"}, []counted{
		chunk("long", map[string]float64{"kettl": 1, "red": 5}, 6),
		chunk("none", map[string]float64{"red": 2}, 2),
		chunk("twice", map[string]float64{"kettl": 2}, 2),
		chunk("rare", map[string]float64{"blue": 1, "red": 1}, 2),
	})
	require.Len(t, ranked, 3)
	// The mean length is 3. Two of four chunks have "kettl", one has "blue".
	for i, want := range []struct {
		content string
		score   float64
	}{
		{"rare", math.Log(1+3.5/1.5) * 2.2 / (1 + 1.2*(0.25+0.75*2/3))},
		{"twice", math.Log(2) * 2 * 2.2 / (2 + 1.2*(0.25+0.75*2/3))},
		{"long", math.Log(2) * 2.2 / (1 + 1.2*(0.25+0.75*6/3))},
	} {
		require.Equal(t, want.content, ranked[i].content)
		require.InDelta(t, want.score, ranked[i].score, 1e-12)
	}
}
