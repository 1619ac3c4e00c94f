package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/model"
)

// The errors of persisted queries. Apollo, urql and others match these texts, and then send the whole query.
const (
	persistedNotFound         = "PersistedQueryNotFound"
	persistedNotFoundCode     = "PERSISTED_QUERY_NOT_FOUND"
	persistedNotSupported     = "PersistedQueryNotSupported"
	persistedNotSupportedCode = "PERSISTED_QUERY_NOT_SUPPORTED"
)

// hashPrefix precedes a SHA-256 in a documentId, as in the draft of GraphQL over HTTP.
const hashPrefix = "sha256:"

// bytesPerText is the memory of a persisted query in addition to its text.
const bytesPerText = 250

// newPersisted returns a cache of the valid queries that clients sent with their SHA-256. All companies share the
// cache, because a hash identifies the text. For 0 bytes it is nil.
func newPersisted(maxBytes int) *cache.Cache[string, string] {
	if maxBytes <= 0 {
		return nil
	}
	return cache.New(maxBytes, func(_, text string) int { return bytesPerText + len(text) })
}

// documentIDs are the ids that a request gives its document, instead of or in addition to its text.
type documentIDs struct {
	// id is the request's documentId, or "".
	id string
	// hash is the hexadecimal SHA-256 in extensions.persistedQuery or documentId, or "".
	hash string
}

func parseDocumentIDs(id string, extensions map[string]any) (documentIDs, *gqlerror.Error) {
	ids := documentIDs{id: id}
	if hash, isHash := strings.CutPrefix(id, hashPrefix); isHash {
		ids.hash = hash
	}
	given, isGiven := extensions["persistedQuery"]
	if !isGiven || given == nil {
		return ids, nil
	}
	members, _ := given.(map[string]any)
	hash, isText := members["sha256Hash"].(string)
	if members["version"] != json.Number("1") || !isText {
		return ids, badInput("extensions.persistedQuery needs version 1 and a sha256Hash")
	}
	if ids.hash != "" && ids.hash != hash {
		return ids, badInput("documentId and extensions.persistedQuery name different documents")
	}
	ids.hash = hash
	return ids, nil
}

// findPersisted sets params.Query to the text of the document that the request names. With trusted documents it refuses
// every other text.
func (s *Server) findPersisted(params request) *gqlerror.Error {
	ids, err := parseDocumentIDs(params.documentID, params.Extensions)
	if err != nil {
		return err
	}
	if params.Query != "" && ids.hash != "" && ids.hash != hashOf(params.Query) {
		return badInput("extensions.persistedQuery.sha256Hash must be the SHA-256 of the query")
	}
	if s.settings.Trusted != nil {
		return s.settings.Trusted.findTrusted(ids, params.RawParams)
	}
	switch {
	case ids.hash == "" && ids.id != "":
		return errorOf("this server has no trusted documents: send the text of the query", persistedNotSupportedCode)
	case ids.hash == "":
		return nil
	case s.persisted == nil && params.Query == "":
		return errorOf(persistedNotSupported, persistedNotSupportedCode)
	case params.Query != "":
		return nil
	}
	text, known := s.persisted.Get(ids.hash)
	if !known {
		return errorOf(persistedNotFound, persistedNotFoundCode)
	}
	params.Query = text
	return nil
}

// operationOf parses and checks the operation of a request. An operation that it returns with errors is only for the
// executor's DispatchError.
func (s *Server) operationOf(ctx context.Context, exec graphql.GraphExecutor,
	params request) (*graphql.OperationContext, gqlerror.List) {
	sent := params.Query != ""
	if err := s.findPersisted(params); err != nil {
		return &graphql.OperationContext{}, gqlerror.List{err}
	}
	ctx = context.WithValue(ctx, variablesKey{}, params.variables)
	operation, errs := exec.CreateOperationContext(ctx, params.RawParams)
	errs = ExplainVariables(s.schema, operation, params.Variables, errs)
	if len(errs) == 0 && sent && s.persisted != nil && s.settings.Trusted == nil {
		// findPersisted has compared the hash with the text.
		if ids, err := parseDocumentIDs(params.documentID, params.Extensions); err == nil && ids.hash != "" {
			s.persisted.Add(ids.hash, params.Query)
		}
	}
	return operation, errs
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// errorOf returns an error with a code that GraphQL tools know.
func errorOf(message, code string) *gqlerror.Error {
	err := gqlerror.Errorf("%s", message)
	errcode.Set(err, code)
	return err
}

func badInput(message string) *gqlerror.Error {
	return gqlerror.Wrap(model.Errorf(model.BadInput, "%s", message))
}
