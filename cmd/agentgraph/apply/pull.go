package apply

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// schemaFile is the name of the schema that pull writes for editors.
const schemaFile = "agentgraph.schema.json"

// outputFile is a file to be written.
type outputFile struct {
	name    string
	content object
}

// maxTests bounds the tests in one file, in bytes of JSON, so that apply accepts the file.
const maxTests = 2 << 20

// files returns the files that describe all resources of the server that files can contain. withIDs adds ids, so that
// users can rename resources.
func (c *company) files(withIDs bool) []outputFile {
	for _, k := range kinds {
		c.assignKeys(k)
	}
	var files []outputFile
	add := func(name string, content object) {
		if len(content) > 0 {
			files = append(files, outputFile{name, content})
		}
	}
	lists := func(kinds ...*kind) (content object) {
		for _, k := range kinds {
			if all := c.listed(k, nil, withIDs); len(all) > 0 {
				content = append(content, member{k.list, all})
			}
		}
		return content
	}
	add("knowledge.yaml", lists(dataset, knowledgeBaseChat))
	add("tools.yaml", lists(mcpServer, tool))
	for _, t := range c.resources[agent] {
		content := object{{agent.list, list{t.file(withIDs)}}}
		groups := c.testGroups(t, withIDs)
		if len(groups) > 0 {
			content = append(content, member{"agentTests", list{groups[0]}})
		}
		add("agent_"+t.key+".yaml", content)
		for i := 1; i < len(groups); i++ {
			add(fmt.Sprintf("tests_%s_%d.yaml", t.key, i+1), object{{"agentTests", list{groups[i]}}})
		}
	}
	add("campaigns.yaml", lists(campaign))
	return files
}

// testGroups returns the folders and tests of an agent in groups, each small enough for one file.
func (c *company) testGroups(owner *resource, withIDs bool) (groups []object) {
	size := 0
	for _, k := range []*kind{folder, simulation, classification} {
		for _, one := range c.listed(k, owner, withIDs) {
			// The error is returned when the file is encoded.
			text, _ := json.Marshal(one)
			if size += len(text); len(groups) == 0 || size > maxTests {
				groups, size = append(groups, object{{"agent", owner.key}}), len(text)
			}
			last := &groups[len(groups)-1]
			*last = last.with(k.list, append(last.list(k.list), one))
		}
	}
	return groups
}

// assignKeys sorts the server's resources of a kind, and gives each a key.
func (c *company) assignKeys(k *kind) {
	slices.SortFunc(c.resources[k], func(a, b *resource) int {
		return cmp.Or(strings.Compare(a.name(), b.name()),
			strings.Compare(c.folderOfNode(a).nameOrNone(), c.folderOfNode(b).nameOrNone()), strings.Compare(a.id, b.id))
	})
	named, taken := map[nameKey][]*resource{}, map[nameKey]bool{}
	for _, t := range c.resources[k] {
		named[c.currentNameKey(t)] = append(named[c.currentNameKey(t)], t)
	}
	for _, t := range c.resources[k] {
		same := named[c.currentNameKey(t)]
		if t.isAmbiguous = len(same) > 1; t.isAmbiguous && t == same[0] {
			c.notes = append(c.notes, fmt.Sprintf("%s: the server has %d objects with this name, so the files include "+
				"their ids: %s", t, len(same), idsOf(same)))
		}
		t.key = keyFrom(t.name(), k)
		for i := 2; taken[nameKey{agent: t.agent, name: t.key}]; i++ {
			t.key = keyFrom(t.name(), k) + "_" + strconv.Itoa(i)
		}
		taken[nameKey{agent: t.agent, name: t.key}] = true
	}
}

func (t *resource) nameOrNone() string {
	if t == nil {
		return ""
	}
	return t.name()
}

// keyFrom derives a key of at most 60 characters from a name: its letters, marks and digits in lower case, with one
// underscore between words. The key of a name without letters and digits is the name of the kind.
func keyFrom(name string, k *kind) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	key := strings.Join(words, "_")
	if key == "" {
		return strings.ReplaceAll(k.name, " ", "_")
	}
	return string([]rune(key)[:min(60, len([]rune(key)))])
}

// listed returns the resources of a kind that belong to the owner, an agent, in the format of files. If owner is nil,
// it returns those that belong to no agent.
func (c *company) listed(k *kind, owner *resource, withIDs bool) (all list) {
	for _, t := range c.resources[k] {
		if t.agent == owner {
			all = append(all, t.file(withIDs))
			c.noteDeleted(t)
		}
	}
	return all
}

// noteDeleted notes each mock of a test whose tool or sub-agent was deleted.
func (c *company) noteDeleted(t *resource) {
	mocking := t.actual.object("toolMocking")
	for _, mocked := range mockLists {
		for _, mock := range mocking.list(mocked.list) {
			target, _ := mock.(object).get(mocked.member)
			if gone := target.(*resource); gone.isDeleted {
				c.notes = append(c.notes, fmt.Sprintf("%s: it mocks the %s %q, which was deleted; remove the "+
					"mock", t, gone.kind.name, gone.id))
			}
		}
	}
}

// file returns a resource in the format of files.
func (t *resource) file(withIDs bool) object {
	content := object{}
	if t.kind != tool && t.kind != simulation && t.kind != classification && t.kind != campaign {
		content = append(content, member{"key", t.key})
	}
	if withIDs || t.isAmbiguous {
		content = append(content, member{"id", t.id})
	}
	for _, f := range t.kind.members {
		value, _ := t.actual.get(f.name)
		mcp, _ := t.actual.get("mcpServerId")
		switch {
		case f.name == "agentId" && t.agent != nil:
			continue
		case t.kind == tool && mcp != nil && f.name == "parameters": // the MCP server defines them
			continue
		case t.kind == tool && mcp != nil && f.name == "description" && t.followsOffer(mcp.(*resource)):
			continue
		case t.kind == tool && mcp == nil && (f.name == "mcpServerId" || f.name == "mcpName"):
			continue
		}
		file := f.fileValue(value)
		if endpoint, ok := file.(object); ok && f.name == "endpoint" {
			file = t.withHeaders(endpoint)
		}
		content = append(content, member{f.name, file})
	}
	if t.kind == dataset {
		content = append(content, member{"documents", t.documentPaths()})
	}
	return content
}

// followsOffer reports whether a tool has the description of its offer. A file with the description would keep it when
// the MCP server changes it.
func (t *resource) followsOffer(server *resource) bool {
	return slices.ContainsFunc(server.node.list("offers"), func(one any) bool {
		offer := one.(object)
		return offer.text("name") == t.node.text("mcpName") && offer.text("description") == t.node.text("description")
	})
}

// withHeaders returns an endpoint with an environment variable for each header. The server never returns the values.
// The variables begin with TOOL_, so that a tool's author cannot name a variable of other programs, such as GH_TOKEN.
func (t *resource) withHeaders(endpoint object) object {
	names := endpoint.list("headerNames")
	endpoint = endpoint.without("headerNames")
	if len(names) == 0 {
		return endpoint
	}
	headers := object{}
	for _, name := range names {
		variable := strings.Map(func(r rune) rune {
			if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return '_'
			}
			return unicode.ToUpper(r)
		}, "TOOL_"+t.reference()+"_"+name.(string))
		headers = append(headers, member{name.(string), "${" + variable + "}"})
	}
	return endpoint.with("headers", headers)
}

// documentPaths returns the documents of a dataset in the format of files.
func (t *resource) documentPaths() list {
	all := list{}
	for _, s := range t.pulledDocuments() {
		file := t.key + "/" + s.file
		if s.file == s.name {
			all = append(all, file)
			continue
		}
		all = append(all, object{{"name", s.name}, {"file", file}})
	}
	return all
}

// pulledDocument is a document with the name of its file.
type pulledDocument struct {
	storedDocument
	file string
}

// pulledDocuments returns the documents sorted by name, one for each name and content.
func (t *resource) pulledDocuments() (all []pulledDocument) {
	stored := slices.SortedFunc(slices.Values(t.stored), func(a, b storedDocument) int {
		return strings.Compare(a.name+"\x00"+a.digest, b.name+"\x00"+b.digest)
	})
	taken := map[string]bool{}
	for i, s := range stored {
		if i > 0 && stored[i-1].name == s.name && stored[i-1].digest == s.digest {
			continue
		}
		file := safeName(s.name)
		for n := 2; taken[strings.ToLower(file)]; n++ {
			file = strconv.Itoa(n) + "_" + safeName(s.name)
		}
		taken[strings.ToLower(file)] = true
		all = append(all, pulledDocument{s, file})
	}
	return all
}

// noteDocuments notes each document that has the name of another one but different content. The note names its file.
func (c *company) noteDocuments() {
	for _, t := range c.resources[dataset] {
		all := t.pulledDocuments()
		for i, s := range all {
			if i > 0 && all[i-1].name == s.name {
				c.notes = append(c.notes, fmt.Sprintf("%s: another document with the name %q has different content, so it "+
					"is written to %s", t, s.name, filepath.Join(knowledgeFolder, t.key, s.file)))
			}
		}
	}
}

const contentQuery = `query ($id: ID!, $offset: Int!) { document(id: $id) { content(offset: $offset) } }`

// download writes a document to a file below the root, unless the file has this content already.
func (a *api) download(ctx context.Context, s storedDocument, root *os.Root, file string) error {
	there := document{folder: root.Name(), path: file}
	if there.readDigest() == nil && there.digest == s.digest {
		return nil
	}
	var content []byte
	for int64(len(content)) < s.size {
		var answer struct{ Document struct{ Content string } }
		if err := a.Query(ctx, contentQuery, client.Variables{"id": s.id, "offset": len(content)}, &answer); err != nil {
			return fmt.Errorf("document %q: %w", s.name, err)
		}
		part, err := base64.StdEncoding.DecodeString(answer.Document.Content)
		if err != nil || len(part) == 0 {
			return fmt.Errorf("document %q: the download was incomplete; run the command again", s.name)
		}
		content = append(content, part...)
	}
	return writeWithin(root, file, content)
}

// writeWithin writes a file below the root atomically. It replaces a symbolic link at the file itself, and refuses a
// directory link that leads out of the root.
func writeWithin(root *os.Root, name string, content []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", filepath.Join(root.Name(), name), err)
		}
	}()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(name), "."+uuid.NewString()+".part")
	file, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		_ = root.Remove(part)
	}
	return err
}

// encode returns the text of a file. It decodes the text again to check it. Content that YAML would change is written
// as JSON, which is valid YAML.
func (w outputFile) encode() ([]byte, error) {
	body, err := yaml.MarshalWithOptions(toYAML(w.content), yamlOptions...)
	if err != nil {
		return nil, err
	}
	if !isReadAs(body, w.content) {
		if body, err = json.MarshalIndent(w.content, "", "  "); err != nil {
			return nil, err
		}
	}
	if !isReadAs(body, w.content) {
		return nil, fmt.Errorf("%s: cannot be written as YAML", w.name)
	}
	return append([]byte("# yaml-language-server: $schema="+schemaFile+"\n"), body...), nil
}

func isReadAs(text []byte, content object) bool {
	var decoded any
	err := cli.DecodeYAML(text, &decoded, yaml.UseOrderedMap())
	return err == nil && isEqual(valueOf(decoded), content)
}
