package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/model"
)

// TrustedDocuments are the only documents that a Server executes for GraphQL clients. They are immutable.
type TrustedDocuments struct {
	byID map[string]string
	// byHash maps the hexadecimal SHA-256 of a document's text to the text.
	byHash map[string]string
}

// LoadTrustedDocuments reads all documents in files, and checks them against the schema and the document bounds of the
// settings. A file NAME.graphql or NAME.gql holds one document, with the id NAME. A file NAME.json is an object from
// ids to documents, as Relay's compiler and GraphQL Code Generator write it, or an Apollo manifest. An id must name
// the same document in all files. The error names the file and, if possible, the position in the document.
func LoadTrustedDocuments(files fs.FS, schema *ast.Schema, settings Settings) (*TrustedDocuments, error) {
	bounds := guard{settings: settings, documents: newDocuments(0), schema: schema}
	t := &TrustedDocuments{byID: map[string]string{}, byHash: map[string]string{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		extension := path.Ext(name)
		if extension != ".graphql" && extension != ".gql" && extension != ".json" {
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		documents := map[string]string{strings.TrimSuffix(path.Base(name), extension): string(text)}
		if extension == ".json" {
			if documents, err = manifest(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for id, document := range documents {
			if err := t.addDocument(bounds, id, document); err != nil {
				return fmt.Errorf("%s, document %s: %w", name, id, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load the trusted documents: %w", err)
	}
	if len(t.byID) == 0 {
		return nil, errors.New("load the trusted documents: the directory has no file that ends in .graphql, .gql or .json")
	}
	return t, nil
}

func manifest(text []byte) (map[string]string, error) {
	var documents map[string]string
	if json.Unmarshal(text, &documents) == nil {
		return documents, nil
	}
	var apollo struct {
		Format     string `json:"format"`
		Operations []struct {
			ID   string `json:"id"`
			Body string `json:"body"`
		} `json:"operations"`
	}
	if json.Unmarshal(text, &apollo) != nil || apollo.Format != "apollo-persisted-query-manifest" {
		return nil, errors.New("it must be a JSON object from ids to documents, or an apollo-persisted-query-manifest")
	}
	documents = map[string]string{}
	for _, operation := range apollo.Operations {
		documents[operation.ID] = operation.Body
	}
	return documents, nil
}

// sha256Form matches ids that claim to be the SHA-256 of their document.
var sha256Form = regexp.MustCompile(`^(?:sha256:)?([0-9a-f]{64})$`)

func (t *TrustedDocuments) addDocument(bounds guard, id, text string) error {
	if id == "" {
		return errors.New("the id is empty")
	}
	if hash := sha256Form.FindStringSubmatch(id); hash != nil && hash[1] != hashOf(text) {
		return errors.New("the id is a SHA-256, but it does not match the document")
	}
	if earlier, taken := t.byID[id]; taken && earlier != text {
		return errors.New("another document has the same id")
	}
	if err := bounds.MutateOperationParameters(context.Background(), &graphql.RawParams{Query: text}); err != nil {
		return errors.New(err.Message)
	}
	if _, errs := gqlparser.LoadQueryWithRules(bounds.schema, text, rules.NewDefaultRules()); len(errs) > 0 {
		if at := errs[0].Locations; len(at) > 0 {
			return fmt.Errorf("line %d, column %d: %s", at[0].Line, at[0].Column, errs[0].Message)
		}
		return errors.New(errs[0].Message)
	}
	t.byID[id], t.byHash[hashOf(text)] = text, text
	return nil
}

// findTrusted sets params.Query to the text of the document that the request names. It returns an error if no trusted
// document has the name or the text, or if both are given and differ.
func (t *TrustedDocuments) findTrusted(ids documentIDs, params *graphql.RawParams) *gqlerror.Error {
	text, known := t.byID[ids.id]
	if !known && ids.hash != "" {
		if text, known = t.byHash[ids.hash]; !known {
			text, known = t.byID[ids.hash]
		}
	}
	if !known && params.Query != "" {
		// A client may also send the text of a trusted document.
		text, known = t.byHash[hashOf(params.Query)]
	}
	switch {
	case known && (params.Query == "" || params.Query == text):
		params.Query = text
		return nil
	case known:
		return badInput("the query differs from the trusted document that the request names")
	case params.Query == "":
		return errorOf(persistedNotFound, persistedNotFoundCode)
	}
	return gqlerror.Wrap(model.Errorf(model.Forbidden, "this server executes only trusted documents: name one by its "+
		"documentId"))
}
