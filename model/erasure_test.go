package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestErasedNumberIsReplaced(t *testing.T) {
	t.Parallel()
	search, err := model.EraseContactInput{PhoneNumber: "+4930123456"}.Search()
	require.NoError(t, err)
	for text, want := range map[string]string{
		"Call 49 30 123456, (030) 123456 or +49-30-123456.": "Call 99999999, 99999999 or 99999999.",
		"Call 030 123457, 12 030 123456":                    "Call 030 123457, 12 030 123456",
		`{"030/123456":"030 123456","a":{"+49 30 123456" : 4930123456},"\"030123456":1}`: `{"99999999":"99999999","a":{` +
			`"99999999-2" : 99999999},"\"99999999-3":1}`,
		`"030 123456": one, "030 123456": two`: `"99999999": one, "99999999": two`,
	} {
		require.Equal(t, want, search.Mask(text))
	}
	_, err = model.EraseContactInput{PhoneNumber: "030 123456"}.Search()
	require.ErrorContains(t, err, "phoneNumber")
}

// The test would not end in time if any of these texts took time quadratic in its length.
func TestErasureReadsLongTexts(t *testing.T) {
	t.Parallel()
	for number, parts := range map[string][]string{
		"+4930123456": {"030 123456 ", "+49", "\\", "<a", "&nbsp", "3", "0 ", "(", `"`, "<b>3</b>", "49.30123456.", "%20"},
		"+4799999999": {"9", "9.", "9 ", "99999999.", "99999999 ", `\u0039`},
	} {
		search, err := model.EraseContactInput{PhoneNumber: number}.Search()
		require.NoError(t, err)
		for _, part := range parts {
			text := strings.Repeat(part, 500_000/len(part))
			require.LessOrEqual(t, len(search.Mask(text)), len(text))
			search.Mask(`{"` + strings.ReplaceAll(text, `"`, "") + `":1}`)
		}
	}
}
