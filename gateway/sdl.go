package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/agentgraph/agentgraph/model"
)

// SDLPath is the path of the schema as one file. It is served only if introspection is on.
const SDLPath = "/schema.graphql"

// oneOf defines @oneOf, which GraphQL has built in since 2025. Older tools need the definition, and newer tools accept
// it.
const oneOf = "\ndirective @oneOf on INPUT_OBJECT\n"

// SDL calls Prepare and returns the schema as one file in the schema definition language.
func SDL(schema *ast.Schema) string {
	Prepare(schema)
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(schema)
	return text.String() + oneOf
}

// scopeNote is the beginning of the note on a scope that Prepare adds.
const scopeNote = "Needs the scope "

// schemas serializes changes to schemas, because servers can share a schema.
var schemas sync.Mutex

// Prepare appends the scope and the cost of a field to its description, because many tools do not show directives. It
// removes the directive @defer, because gqlgen answers it with null even for non-null fields. It changes the schema,
// and a second call changes nothing. Call it before anything reads the schema.
func Prepare(schema *ast.Schema) {
	schemas.Lock()
	defer schemas.Unlock()
	if schema.Directives["defer"] != nil {
		delete(schema.Directives, "defer") // only the first call writes, because requests of other servers read the map
	}
	for _, definition := range schema.Types {
		for _, field := range definition.Fields {
			note := noteOf(field.Directives)
			if note != "" && !strings.HasSuffix(field.Description, note) {
				field.Description = strings.TrimLeft(field.Description+"\n\n"+note, "\n")
			}
		}
	}
}

func noteOf(directives ast.DirectiveList) string {
	var notes []string
	if d := directives.ForName("requires"); d != nil {
		note := scopeNote + "`" + d.Arguments.ForName("scope").Value.Raw + "`"
		for _, open := range directives.ForNames("openTo") {
			note += ", or `" + open.Arguments.ForName("scope").Value.Raw + "`"
		}
		if only := d.Arguments.ForName("keyOnly"); only != nil && only.Value.Raw == "true" {
			note += ", and an API key rather than a token"
		}
		notes = append(notes, note+".")
	}
	if d := directives.ForName("cost"); d != nil {
		note := "Costs " + d.Arguments.ForName("weight").Value.Raw
		if shared := d.Arguments.ForName("isShared"); shared != nil && shared.Value.Raw == "true" {
			note += ", once for all objects on a level"
		}
		notes = append(notes, note+".")
	}
	if d := directives.ForName("listSize"); d != nil {
		if size := d.Arguments.ForName("assumedSize"); size != nil {
			notes = append(notes, fmt.Sprintf("Counts as %s elements.", size.Value.Raw))
		}
	}
	if directives.ForName("modelDriven") != nil {
		notes = append(notes, "Uses a language model.")
	}
	return strings.Join(notes, " ")
}

// serveSDL sends the schema to callers who may introspect: all except those with the scope chat.
func (s *Server) serveSDL(w http.ResponseWriter, r *http.Request) {
	principal, _ := model.PrincipalOf(r.Context())
	switch {
	case !s.settings.Introspection:
		s.refuse(w, r, model.Errorf(model.NotFound, "introspection is switched off on this server"))
	case principal.Reach != nil:
		s.refuse(w, r, model.Errorf(model.Forbidden, "the scope chat does not include the schema"))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refusal(http.StatusMethodNotAllowed, "the method %s is not allowed here; use GET", r.Method).
			write(r.Context(), w, negotiate(r.Header))
	default:
		writeBody(w, http.StatusOK, sdlType, s.sdl())
	}
}
