package gateway_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// An EventSource sends its token in the address. Such a token allows only its subscription, and is not logged.
func TestAddressesCarryOnlySubscriptionTokens(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *gateway.Options) {
		keys := o.Authenticate
		o.Authenticate = func(ctx context.Context, credential string) (model.Principal, error) {
			switch credential {
			case "agt_narrow":
				return model.Principal{CompanyID: "c1", KeyID: "k1", TokenHash: []byte{1}, Subscription: "counted"}, nil
			case "agt_wide":
				return model.Principal{CompanyID: "c1", KeyID: "k1", TokenHash: []byte{2}}, nil
			}
			return keys(ctx, credential)
		}
	})
	query := "/graphql?query=" + url.QueryEscape("subscription { counted(to: 1) { number } }")
	stream, noKey := "Accept: "+eventType, "X-Api-Key:"
	read := f.do(t, call{method: "GET", path: query + "&access_token=agt_narrow", headers: []string{stream, noKey}})
	require.Equal(t, 200, read.status)
	require.Contains(t, read.text, "id: 1\n")

	const misplaced, wide = "is allowed only once, for an EventSource at /graphql",
		"only an access token for one subscription may be in a URL"
	for name, c := range map[string]struct {
		call
		status int
		text   string
	}{
		"a wide token": {call{"GET", query + "&access_token=agt_wide", []string{stream, noKey}, ""}, 403, wide},
		"a key":        {call{"GET", query + "&access_token=" + goodKey, []string{stream, noKey}, ""}, 403, wide},
		"a bad token":  {call{"GET", query + "&access_token=agt_bad", []string{stream, noKey}, ""}, 401, "is not valid"},
		"no token": {call{"GET", query + "&access_token=", []string{stream, noKey}, ""}, 401,
			"the request has no credential"},
		"another name": {call{"GET", query + "&api_key=" + goodKey, []string{stream, noKey}, ""}, 401,
			"the request has no credential"},
		"two tokens": {call{"GET", query + "&access_token=agt_narrow&access_token=agt_narrow", []string{stream, noKey},
			""}, 400, misplaced},
		"with a key, too": {call{"GET", query + "&access_token=agt_narrow", []string{stream}, ""}, 400, misplaced},
		"for no stream":   {call{"GET", query + "&access_token=agt_narrow", []string{noKey}, ""}, 400, misplaced},
		"of a POST": {call{"POST", "/graphql?access_token=agt_narrow", []string{stream, noKey},
			`{"query":"{ __typename }"}`}, 400, misplaced},
		"of a socket": {call{"GET", "/graphql?access_token=agt_narrow",
			[]string{noKey, "Upgrade: websocket", "Connection: Upgrade"}, ""}, 400, misplaced},
		"of another path": {call{"GET", gateway.SDLPath + "?access_token=agt_narrow", []string{stream, noKey}, ""}, 400,
			misplaced},
		"for another path": {call{"GET", gateway.SDLPath, []string{noKey, "Authorization: Bearer agt_narrow"}, ""}, 403,
			"valid only for the subscription counted"},
	} {
		refused := f.do(t, c.call)
		require.Equal(t, c.status, refused.status, name)
		require.Contains(t, refused.text, c.text, name)
	}
	require.NotContains(t, f.log.String(), "agt_")
	require.NotContains(t, f.log.String(), goodKey)
}
