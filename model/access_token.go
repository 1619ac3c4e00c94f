package model

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// AccessToken is a short-lived credential that an API key makes for a client that cannot keep a secret, such as a web
// page. It has at most the rights of its key, and becomes invalid with it. The token itself is never stored.
type AccessToken struct {
	bun.BaseModel `bun:"table:access_tokens,alias:access_token"`
	Owned

	// Hash is the SHA-256 of the token.
	Hash      []byte `bun:",pk"`
	APIKeyID  string
	APIKey    *APIKey       `bun:"rel:belongs-to,join:company_id=company_id,join:api_key_id=id"`
	Scopes    []APIKeyScope `bun:",array"`
	CreatedAt time.Time
	ExpiresAt time.Time
	// Origins are the origins of the pages that may use the token. Nil allows requests from anywhere.
	Origins []string `bun:",array,nullzero"`
	// AgentIDs are the agents that a token with the scope chat is restricted to. Nil allows all agents.
	AgentIDs []string `bun:"agent_ids,array,nullzero"`
	// Subscription is the only operation that the token allows. If it is empty, the token allows all that its scopes
	// allow.
	Subscription SubscriptionField `bun:",nullzero"`
	// Holder is a SHA-256 hash that identifies the owner of the chats that a token with the scope chat starts. Nil
	// for other tokens.
	Holder []byte
}

// Bounds of an access token: its lifetime in seconds, and its restrictions.
const (
	MinTokenSeconds  = 60
	MaxTokenSeconds  = 86_400
	maxTokenOrigins  = 20
	maxTokenAgents   = 100
	maxVisitorLength = 200
)

const tokenKind = "agt"

// NewAccessToken returns a new token of the key, with its text. It returns BAD_INPUT with every bound that the input
// breaks, and FORBIDDEN when the key lacks one of the scopes. A token expires no later than its key.
//
// The text has the form of an API key's secret, with "agt_" at its beginning.
func NewAccessToken(signer Signer, key *APIKey, in CreateAccessTokenInput,
	now time.Time) (*AccessToken, string, error) {
	var faults Fields
	faults.scopes(in.Scopes)
	if in.TTLSeconds < MinTokenSeconds || in.TTLSeconds > MaxTokenSeconds {
		faults.Add("ttlSeconds", "must be from %d to %d", MinTokenSeconds, MaxTokenSeconds)
	}
	faults.narrowing(in)
	if err := faults.Err(); err != nil {
		return nil, "", err
	}
	for _, scope := range in.Scopes {
		if !(Principal{Scopes: key.Scopes}).Can(scope) {
			return nil, "", Errorf(Forbidden, "the API key does not have the scope %s, so its access tokens cannot have "+
				"it", scope)
		}
	}
	// The time is truncated to the precision of the API.
	expiresAt := now.Add(time.Duration(in.TTLSeconds) * time.Second).Truncate(time.Millisecond)
	if key.ExpiresAt != nil && key.ExpiresAt.Before(expiresAt) {
		expiresAt = *key.ExpiresAt
	}
	_, text := signer.newSecret(tokenKind, key.CompanyID)
	token := &AccessToken{
		Hash: HashOfSecret(text), APIKeyID: key.ID, APIKey: key, Scopes: Unique(in.Scopes), CreatedAt: now,
		ExpiresAt: expiresAt,
	}
	if in.Subscription != nil {
		token.Subscription = *in.Subscription
	}
	if in.Origins != nil {
		token.Origins = Unique(in.Origins)
	}
	if in.AgentIds != nil {
		token.AgentIDs = Unique(in.AgentIds)
	}
	switch {
	case !isChat(token.Scopes):
	case in.Visitor != nil:
		token.Holder = HashOfSecret("visitor\x00" + key.ID + "\x00" + *in.Visitor)
	default:
		token.Holder = token.Hash
	}
	return token, text, nil
}

// isChat reports whether the scopes are only the scope chat, which cannot be combined with others.
func isChat(scopes []APIKeyScope) bool { return len(scopes) == 1 && scopes[0] == APIKeyScopeChat }

func (f *Fields) narrowing(in CreateAccessTokenInput) {
	if in.Origins != nil && f.nonEmptyList("origins", len(in.Origins), maxTokenOrigins) {
		for i, origin := range in.Origins {
			if !isPageOrigin(origin) {
				f.Add(fmt.Sprintf("origins.%d", i), "must be an origin as browsers send it, such as "+
					"https://www.example.com; only localhost and loopback addresses may use http")
			}
		}
	}
	if in.AgentIds != nil && f.nonEmptyList("agentIds", len(in.AgentIds), maxTokenAgents) {
		for i, id := range in.AgentIds {
			f.text(fmt.Sprintf("agentIds.%d", i), id, 1, 64)
		}
	}
	if in.Visitor != nil {
		f.text("visitor", *in.Visitor, 1, maxVisitorLength)
	}
	if field := in.Subscription; field != nil && isChat(Unique(in.Scopes)) &&
		*field != SubscriptionFieldSimulationChatEvents && *field != SubscriptionFieldSimulationChatMessages {
		f.Add("subscription", "must be simulationChatEvents or simulationChatMessages with the scope chat")
	}
	if !isChat(Unique(in.Scopes)) {
		for name, isGiven := range map[string]bool{"agentIds": in.AgentIds != nil, "visitor": in.Visitor != nil} {
			if isGiven {
				f.Add(name, "can be given only with the scope chat")
			}
		}
	}
}

// nonEmptyList records a fault if a list is empty or too long, and reports whether its entries should be checked.
func (f *Fields) nonEmptyList(path string, length, limit int) bool {
	if length == 0 {
		f.Add(path, "must have at least one entry")
		return false
	}
	return f.list(path, length, limit)
}

// isPageOrigin reports whether the text is the origin of a page, exactly as browsers send it: https, or http on the
// browser's own machine.
func isPageOrigin(text string) bool {
	address, err := url.Parse(text)
	if err != nil || len(text) > 300 || text != address.Scheme+"://"+address.Host || text != strings.ToLower(text) {
		return false
	}
	host := address.Hostname()
	if host == "" || strings.HasSuffix(address.Host, ":") || strings.ContainsFunc(host, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.:", c) // colons of an IPv6 address
	}) {
		return false
	}
	switch address.Scheme {
	case "https":
		return address.Port() != "443"
	case "http":
		ip, err := netip.ParseAddr(host)
		return address.Port() != "80" && (host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil &&
			ip.IsLoopback())
	}
	return false
}

// Usable reports whether the token has not expired at the time and its key is usable.
func (t *AccessToken) Usable(at time.Time) bool {
	return at.Before(t.ExpiresAt) && t.APIKey.Usable(at)
}

// IsAccessToken reports whether the text starts like an access token.
func IsAccessToken(text string) bool { return strings.HasPrefix(text, tokenKind+"_") }

// ParseAccessToken returns the company of a token and the hash under which it is stored, or false when the text is not
// one of our tokens.
func ParseAccessToken(text string) (companyID string, hash []byte, ok bool) {
	companyID, _, ok = parseSecret(tokenKind, text)
	if !ok {
		return "", nil, false
	}
	return companyID, HashOfSecret(text), true
}

// Principal returns the principal of the token.
func (t *AccessToken) Principal() Principal {
	p := Principal{CompanyID: t.CompanyID, KeyID: t.APIKeyID, Scopes: t.Scopes, TokenHash: t.Hash, Origins: t.Origins,
		Subscription: t.Subscription}
	if isChat(t.Scopes) {
		p.Reach = &Reach{Holder: t.Holder, AgentIDs: t.AgentIDs}
	}
	return p
}
