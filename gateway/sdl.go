package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/agentgraph/agentgraph/model"
)

// SDLPath is where the schema is served as one file, to clients that may introspect it.
const SDLPath = "/schema.graphql"

// oneOf defines a directive that is built in since 2025. Tools from before know it by its definition, and others take
// it.
const oneOf = "\ndirective @oneOf on INPUT_OBJECT\n"

// SDL returns the schema as one file in the schema definition language, with its descriptions as Describe makes them.
func SDL(schema *ast.Schema) string {
	Describe(schema)
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(schema)
	return text.String() + oneOf
}

// described begins what Describe adds.
const described = "Needs the scope "

// Describe adds to the descriptions of fields which scope they need and what they cost, as their directives say, for
// tools that show descriptions and no directives. Calling it again changes nothing.
func Describe(schema *ast.Schema) {
	schemas.Lock()
	defer schemas.Unlock()
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
		note := described + "`" + d.Arguments.ForName("scope").Value.Raw + "`"
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
			note += ", once for all objects of a level"
		}
		notes = append(notes, note+".")
	}
	if d := directives.ForName("listSize"); d != nil {
		if size := d.Arguments.ForName("assumedSize"); size != nil {
			notes = append(notes, fmt.Sprintf("Counts as %s elements.", size.Value.Raw))
		}
	}
	if directives.ForName("modelDriven") != nil {
		notes = append(notes, "Makes a language model work.")
	}
	return strings.Join(notes, " ")
}

func (s *Server) serveSDL(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.settings.Introspection:
		s.refuse(w, r, model.Errorf(model.NotFound, "introspection is switched off"))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refusal(http.StatusMethodNotAllowed, "the method %s is not allowed here; use GET", r.Method).
			write(r.Context(), w, negotiate(r.Header))
	default:
		writeBody(w, http.StatusOK, sdlType, s.sdl())
	}
}
