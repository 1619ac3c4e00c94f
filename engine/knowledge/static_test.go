package knowledge_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm/static"
)

// meanings writes a static model that knows the given words. Words of one group have the same vector.
func meanings(t *testing.T, groups ...[]string) string {
	t.Helper()
	var vocabulary string
	var table []byte
	for i, group := range groups {
		for _, word := range group {
			vocabulary += fmt.Sprintf(`,%q:%d`, word, len(table)/4/len(groups)+1)
			for column := range groups {
				number := float32(0)
				if column == i {
					number = 1
				}
				table = binary.LittleEndian.AppendUint32(table, math.Float32bits(number))
			}
		}
	}
	table = append(make([]byte, 4*len(groups)), table...)
	header := fmt.Sprintf(`{"embeddings":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}`,
		len(table)/4/len(groups), len(groups), len(table))
	folder := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json": `{"normalizer":{"type":"BertNormalizer","clean_text":true,"lowercase":true},
			"pre_tokenizer":{"type":"BertPreTokenizer"},
			"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0` + vocabulary + `}}}`,
		"model.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + string(table),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

func TestStaticModelFindsOtherWordsOfTheSameMeaning(t *testing.T) {
	t.Parallel()
	embedder, err := static.Open(meanings(t, []string{"refund", "reimbursement"}, []string{"parking", "garage"}))
	require.NoError(t, err)
	for kept, store := range dbtest.Stores(t, db.Options{}) {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, knowledge.Options{Embedder: embedder}, store,
				[]string{"Every reimbursement takes five days.\nThe garage is behind the house."})
			l.chat.PromptSettings.SimilarityThreshold = 0.2
			require.Equal(t, []string{"Every reimbursement takes five days."}, texts(l.ask("refund?")))
			require.Equal(t, []string{"The garage is behind the house."}, texts(l.ask("parking")))
			require.Empty(t, l.ask("breakfast"))
			l.base = knowledge.New(knowledge.Options{})
			require.Empty(t, l.ask("refund?"))
		})
	}
}
