package gateway

import "time"

// Settings are the bounds of the front door. Start from DefaultSettings; a zero is not a default.
type Settings struct {
	// BodyBytes is the largest request body and the largest WebSocket message.
	BodyBytes int64
	// UploadBytes is the most that the files of a request may have together; BodyBytes bounds the rest of it.
	UploadBytes int64
	// QueryBytes, QueryTokens and QueryDepth bound a document before it is validated. Depth counts
	// nested fields, leaves included.
	QueryBytes  int
	QueryTokens int
	QueryDepth  int
	// QueryCost bounds what one operation may cost, in values of its response, as the schema's @cost and
	// @listSize tell before it is executed; 0 switches it off.
	QueryCost int
	// ResponseBytes bounds what one response holds, each value counted with 64 bytes beside its name and text.
	ResponseBytes int64
	// CachedQueries and CachedBytes bound the cache of parsed documents, whichever is reached first.
	CachedQueries int
	CachedBytes   int
	// Introspection lets clients read the schema through __schema and __type.
	Introspection bool
	// RequestTimeout bounds a query or a mutation, reading its body included. Subscriptions live as
	// long as their connection.
	RequestTimeout time.Duration
	// SlowFields are fields of the mutation root that have a bound of their own.
	SlowFields map[string]time.Duration
	// SecretFields are fields of the mutation root whose responses are never kept.
	SecretFields []string
	// WriteTimeout is how long a client may take to receive one response or one message before it is
	// dropped.
	WriteTimeout time.Duration
	// InitTimeout is how long a socket may stay open without connection_init.
	InitTimeout time.Duration
	// PingInterval is the time between two signs of life on an open stream. The credential of the
	// stream is checked again each time.
	PingInterval time.Duration
	// SocketOperations is how many operations one socket may run at a time.
	SocketOperations int
	// AllowedOrigins are the hosts, other than the gateway's own, whose pages may open a socket. A
	// pattern is matched as in path.Match, against scheme://host when it has a scheme.
	AllowedOrigins []string
	// CORSOrigins are the origins, such as https://console.example.com, whose pages may call the gateway and open
	// sockets. "*" stands for every origin, and in https://*.example.com for any name before the rest.
	CORSOrigins []string
	// Connections bound what is open at a time, for whoever serves.
	Connections Connections
	// RateLimit is how many requests one key may make in a minute, operations on sockets included, and ModelRateLimit
	// how many fields marked @modelDriven it may ask for; 0 is any number. Each Server counts for itself.
	RateLimit      int
	ModelRateLimit int
	// SlowOperation is from how long on a query or a mutation is logged as slow; 0 for none.
	SlowOperation time.Duration
	// CompanyRateLimit is how many requests all keys of one company may make in a minute together; 0 is any number.
	CompanyRateLimit int
	// SessionsPerKey is how many sockets and streams one key, with its tokens, may have open; 0 is any number.
	SessionsPerKey int
}

// DefaultSettings returns the bounds of a production gateway, without rate limits, which depend on its clients.
func DefaultSettings() Settings {
	return Settings{
		BodyBytes:        1 << 20,
		UploadBytes:      25 << 20,
		QueryBytes:       32 << 10,
		QueryTokens:      4_000,
		QueryDepth:       15,
		QueryCost:        1_000_000,
		ResponseBytes:    32 << 20,
		CachedQueries:    1_000,
		CachedBytes:      32 << 20,
		Introspection:    true,
		RequestTimeout:   30 * time.Second,
		WriteTimeout:     10 * time.Second,
		InitTimeout:      3 * time.Second,
		PingInterval:     20 * time.Second,
		SocketOperations: 100,
		SessionsPerKey:   1_000,
		Connections:      Connections{All: 20_000, PerAddress: 1_000},
	}
}
