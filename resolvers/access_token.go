package resolvers

import (
	"bytes"
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// revocableToken returns the hash of the token to revoke. A token can revoke only itself. An API key revokes the token
// in the argument.
func revocableToken(ctx context.Context, token *string) ([]byte, error) {
	principal, _ := model.PrincipalOf(ctx)
	if token == nil && principal.IsToken() {
		return principal.TokenHash, nil
	}
	var faults model.Fields
	if token == nil {
		faults.Add("token", "must be given when the request has an API key instead of an access token")
		return nil, faults.Err()
	}
	_, hash, ok := model.ParseAccessToken(*token)
	if !ok {
		faults.Add("token", "must be an access token")
		return nil, faults.Err()
	}
	if principal.IsToken() && !bytes.Equal(hash, principal.TokenHash) {
		return nil, model.Errorf(model.Forbidden,
			"an access token can revoke only itself: to revoke another token, use the API key that made it")
	}
	return hash, nil
}
