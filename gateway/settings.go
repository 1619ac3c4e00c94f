package gateway

import (
	"net/netip"
	"time"
)

// Settings are the bounds and options of a Server. Start from DefaultSettings: a zero value does not mean the default.
type Settings struct {
	// BasePath is the path at which clients find the gateway, such as /agents, or "". Requests without it are served
	// too, because a proxy can remove it.
	BasePath string
	// BodyBytes bounds a request body and a WebSocket message.
	BodyBytes int64
	// UploadBytes bounds the sum of a request's files. BodyBytes bounds the rest of such a request.
	UploadBytes int64
	// QueryBytes, QueryTokens and QueryDepth bound a document before it is validated. Depth counts nested fields,
	// leaves included.
	QueryBytes  int
	QueryTokens int
	QueryDepth  int
	// QueryCost bounds the cost of one operation, which is the estimated number of values in its response. The estimate
	// uses the schema's @cost and @listSize. 0 means no limit.
	QueryCost int
	// ResponseBytes bounds the memory of one response while it is made. Each value counts its name, its text and 64 bytes
	// more. A text of more than 1 KiB counts four times. The rows that were read for the response count too.
	ResponseBytes int64
	// ResponseWork bounds the work for one response, in values that the executor resolves one by one. A database
	// statement counts as 125 values. Values that are written directly from rows do not count. 0 means no limit.
	ResponseWork int
	// CachedBytes bounds the cache of parsed documents.
	CachedBytes int
	// PersistedBytes bounds the memory of persisted queries, which clients name by their SHA-256 after sending them once.
	// 0 disables persisted queries, and clients get an error that says so.
	PersistedBytes int
	// Trusted lists the only documents that GraphQL clients may use. Nil lets clients send any document.
	Trusted *TrustedDocuments
	// Batch bounds the operations of one request whose body is a list of them. 0 refuses lists.
	Batch int
	// Compress compresses large single responses for clients that accept gzip. Streams are never compressed.
	Compress bool
	// Introspection lets clients read the schema through __schema and __type.
	Introspection bool
	// RequestTimeout bounds a query or mutation, including the time to read its body. Subscriptions last as long as their
	// connection.
	RequestTimeout time.Duration
	// SlowFields are fields of the mutation root with their own timeout.
	SlowFields map[string]time.Duration
	// SecretFields are fields of the mutation root. The bodies of their responses are never saved for retries.
	SecretFields []string
	// WriteTimeout is how long a client may take to receive one response or message before it is dropped.
	WriteTimeout time.Duration
	// InitTimeout is how long a socket may stay open without connection_init.
	InitTimeout time.Duration
	// PingInterval is the time between two pings or comments on an open socket or stream. Each time, the credential is
	// checked again.
	PingInterval time.Duration
	// SocketOperations bounds the concurrent operations of one socket.
	SocketOperations int
	// AllowedOrigins are patterns of hosts, other than the gateway's own, whose pages may open a socket. A pattern is
	// matched as in path.Match, against scheme://host if it has a scheme.
	AllowedOrigins []string
	// CORSOrigins are the origins, such as https://console.example.com, whose pages may call the gateway and open sockets.
	// "*" means every origin, and https://*.example.com any subdomain.
	CORSOrigins []string
	// TrustedProxies are the networks of proxies whose X-Forwarded-For header names the client. Without them, the client's
	// address is the address of the connection.
	TrustedProxies []netip.Prefix
	// Connections bounds the open connections. The listener applies it.
	Connections Connections
	// RateLimit bounds the requests of one key in a minute, including operations on sockets. ModelRateLimit bounds the
	// fields marked @modelDriven in these requests. 0 means no limit. Each Server counts separately.
	RateLimit      int
	ModelRateLimit int
	// SlowOperation is the duration from which a query or mutation is logged as slow. 0 logs none.
	SlowOperation time.Duration
	// CompanyRateLimit bounds the requests of all keys of one company in a minute; 0 means no limit. The fields marked
	// @modelDriven of one company have a limit in the same ratio to the limit of a key.
	CompanyRateLimit int
	// SessionsPerKey bounds the open sockets and streams of one key and its tokens; 0 means no limit.
	SessionsPerKey int
}

// DefaultSettings returns settings for production. Rate limits are off, because they depend on the clients.
func DefaultSettings() Settings {
	return Settings{
		BodyBytes:        1 << 20,
		UploadBytes:      25 << 20,
		QueryBytes:       32 << 10,
		QueryTokens:      4_000,
		QueryDepth:       25,
		QueryCost:        1_000_000,
		ResponseBytes:    32 << 20,
		ResponseWork:     50_000,
		CachedBytes:      32 << 20,
		PersistedBytes:   8 << 20,
		Compress:         true,
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
