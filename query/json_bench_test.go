package query

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkText compares how plans, gqlgen and encoding/json write a text as JSON.
func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"plain":   strings.Repeat("You are the front desk of a clinic. ", 60),
		"escaped": strings.Repeat("Say \"hello\",\nthen listen.\t", 80),
	} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			var buffer bytes.Buffer
			encoder := json.NewEncoder(&buffer)
			encoder.SetEscapeHTML(false)
			for _, way := range []struct {
				name  string
				write func()
			}{
				{"plan", func() { dst = appendText(dst[:0], text) }},
				{"gqlgen", func() { buffer.Reset(); graphql.MarshalString(text).MarshalGQL(&buffer) }},
				{"encoding-json", func() { buffer.Reset(); _ = encoder.Encode(text) }},
			} {
				b.Run(way.name, func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						way.write()
					}
				})
			}
		})
	}
}

// BenchmarkStored compares how plans and encoding/json read an agent's stored fields.
func BenchmarkStored(b *testing.B) {
	fields := make([]model.AgentField, 40)
	for i := range fields {
		fields[i] = model.AgentField{Name: "firstName", IsMandatory: i%2 == 0, IsSystem: i%3 == 0}
	}
	src, err := json.Marshal(fields)
	require.NoError(b, err)
	b.Run("plan", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			var list, member reader
			for list.open(src, '['); list.element(); {
				for member.open(list.value, '{'); member.member(); {
				}
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			var read []model.AgentField
			if err := json.Unmarshal(src, &read); err != nil {
				b.Fatal(err)
			}
		}
	})
}
