package knowledge_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
)

// BenchmarkTypingErrors asks a question with four unknown words, in datasets with few and with many words.
func BenchmarkTypingErrors(b *testing.B) {
	for _, terms := range []int{700, 100_000} {
		b.Run(fmt.Sprintf("terms=%d", terms), func(b *testing.B) {
			address := dbtest.URL(b)
			l := newLibrary(b, knowledge.Options{}, dbtest.Open(b, address, db.Options{}), shop)
			words := newVocabulary(rand.New(rand.NewPCG(1, 2)), terms).words
			conn, err := pgx.Connect(b.Context(), address)
			require.NoError(b, err)
			b.Cleanup(func() { _ = conn.Close(context.Background()) })
			_, err = conn.Exec(b.Context(),
				`INSERT INTO dataset_terms SELECT company_id, id, unnest($1::text[]), 1 FROM datasets`, words)
			require.NoError(b, err)
			_, err = conn.Exec(b.Context(), "VACUUM ANALYZE dataset_terms")
			require.NoError(b, err)
			require.NotEmpty(b, l.ask("refnuded guarentee vaccum brsh"))
			for b.Loop() {
				l.ask("refnuded guarentee vaccum brsh")
			}
		})
	}
}
