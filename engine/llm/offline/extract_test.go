package offline_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

func TestExtractorReadsTheConversation(t *testing.T) {
	t.Parallel()
	const asked = `{"date":"2026-11-26, Thursday","values":[
		{"name":"callerName","definition":"Full name that the caller gave.","type":"Nom"},
		{"name":"doctorName","definition":"The doctor with whom the appointment was made.","type":"Nom"},
		{"name":"collectionDay","definition":"Day of collection, written YYYY-MM-DD.","type":"Text"},
		{"name":"guests","definition":"How many guests there are.","type":"Text"},
		{"name":"bookingReference","definition":"The reference of the booking, for example QX7-12.","type":"Text"},
		{"name":"safePlace","definition":"Where the parcel is to be left.","type":"Text"},
		{"name":"allergies","definition":"Allergies that the visitor named.","type":"Text"},
		{"name":"articles","definition":"The articles to return.","type":"Text"},
		{"name":"wrapping","definition":"The wrapping of the gift.","type":"Text"}],
	"conversation":[
		{"speaker":"agent","text":"Welcome. Do you want to return an article, exchange it or ask something else?"},
		{"speaker":"contact","text":"I would like to return it."},
		{"speaker":"agent","text":"My name is Robo Caller. Which wrapping do you prefer, paper or linen?"},
		{"speaker":"contact","text":"Linen."},
		{"speaker":"agent","text":"Good."},
		{"speaker":"contact","text":"Hello, my name is Ana Silva, about the booking ZT4-88."},
		{"speaker":"agent","text":"For which day is the collection?"},
		{"speaker":"contact","text":"On 2026-12-01. No, on Friday."},
		{"speaker":"agent","text":"How many guests are you?"},
		{"speaker":"contact","text":"We are 6."},
		{"speaker":"agent","text":"And a safe place?"},
		{"speaker":"contact","text":"Behind the shed."}]}`
	answer, err := llm.Collect(offline.Extractor().
		Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: asked}}}))
	require.NoError(t, err)
	var values map[string]*string
	require.NoError(t, json.Unmarshal([]byte(answer.Text), &values))
	require.Equal(t, map[string]*string{
		"callerName": new("Ana Silva"), "doctorName": nil, "collectionDay": new("2026-11-27"), "guests": new("6"),
		"bookingReference": new("ZT4-88"), "safePlace": new("Behind the shed"), "allergies": nil,
		"articles": nil, "wrapping": new("Linen"),
	}, values)
	_, err = llm.Collect(offline.Extractor().
		Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}))
	require.ErrorContains(t, err, "it only extracts values")
}
