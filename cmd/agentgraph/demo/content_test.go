package demo

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

func mustRead(t *testing.T, folder string) company {
	t.Helper()
	c, err := readCompany(folder)
	require.NoError(t, err)
	return c
}

func eachCompany(t *testing.T, check func(*testing.T, company)) {
	t.Helper()
	for _, folder := range []string{"merrowby", "tansy_lane"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			check(t, mustRead(t, folder))
		})
	}
}

func TestDecodeRefusesUnknownKeys(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"company":  "naem: Merrowby",
		"agent":    "agents: [{key: a, nmae: A}]",
		"field":    "agents: [{key: a, fields: [{name: f, isMandatry: true}]}]",
		"repeated": "name: A\nname: B",
	} {
		require.Error(t, decode([]byte(text), new(company)), name)
	}
	var c company
	require.NoError(t, decode([]byte("agents: [{key: a, name: A}]"), &c))
	require.Equal(t, "A", c.Agents[0].Name)
}

func TestEveryInputIsValid(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c company) {
		now := time.Now()
		_, err := model.NewCompany(c.Name, now)
		require.NoError(t, err)
		for _, in := range c.Tools {
			_, err := model.NewTool(in.Changes(), now, nil)
			require.NoError(t, err, in.TechnicalName)
		}
		for _, in := range c.Datasets {
			_, err := model.NewDataset(in.CreateDatasetInput, now)
			require.NoError(t, err, in.Key)
		}
		for _, in := range c.KnowledgeBaseChats {
			_, err := model.NewKnowledgeBaseChat(in.CreateKnowledgeBaseChatInput, now)
			require.NoError(t, err, in.Key)
		}
		for _, in := range c.Agents {
			for _, prompt := range in.prompts() {
				input := in.CreateAgentInput
				input.Prompt = prompt
				_, err := model.NewAgent(input, now)
				require.NoError(t, err, in.Key)
			}
			for _, edge := range in.SubAgents {
				require.NoError(t, edge.Validate(), in.Key)
			}
		}
	})
}

func TestEveryKeyNamesAnObject(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c company) {
		agents := keysOf(t, c.Agents, func(a agent) string { return a.Key })
		tools := keysOf(t, c.Tools, func(in model.CreateToolInput) string { return in.TechnicalName })
		datasets := keysOf(t, c.Datasets, func(d dataset) string { return d.Key })
		chats := keysOf(t, c.KnowledgeBaseChats, func(k knowledgeBaseChat) string { return k.Key })
		var usedTools, usedDatasets, usedChats []string
		for _, a := range c.Agents {
			names := slices.Clone(a.ToolIDs)
			usedTools = append(usedTools, a.ToolIDs...)
			if a.KnowledgeBaseChatID != "" {
				usedChats = append(usedChats, a.KnowledgeBaseChatID)
			}
			for _, edge := range a.SubAgents {
				require.Contains(t, agents, edge.DelegateAgentID, a.Key)
				names = append(names, edge.TechnicalName)
			}
			keysOf(t, names, func(name string) string { return name })
		}
		for _, k := range c.KnowledgeBaseChats {
			usedDatasets = append(usedDatasets, k.DatasetIds...)
		}
		// Together, the two Subset checks mean that nothing is missing and nothing is unused.
		for used, all := range map[*[]string][]string{&usedTools: tools, &usedDatasets: datasets, &usedChats: chats} {
			require.Subset(t, all, *used)
			require.Subset(t, *used, all)
		}
	})
}

// keysOf returns the keys of all objects. They must be unique.
func keysOf[T any](t *testing.T, all []T, key func(T) string) []string {
	t.Helper()
	keys := make([]string, 0, len(all))
	for _, one := range all {
		require.NotEmpty(t, key(one))
		require.NotContains(t, keys, key(one))
		keys = append(keys, key(one))
	}
	return keys
}

func TestDemoCompanyShowsEveryKind(t *testing.T) {
	t.Parallel()
	c := mustRead(t, "merrowby")
	require.Len(t, c.Agents, 8)
	require.GreaterOrEqual(t, len(c.Tools), 25)
	require.Len(t, c.KnowledgeBaseChats, 2)
	require.NotEqual(t, c.KnowledgeBaseChats[0].LlmSettings, c.KnowledgeBaseChats[1].LlmSettings)
	require.NotEqual(t, c.KnowledgeBaseChats[0].PromptSettings, c.KnowledgeBaseChats[1].PromptSettings)
	require.Len(t, c.Datasets, 4)
	keysOf(t, c.Datasets, func(d dataset) string { return *d.ChunkMethod })

	channels, directions, languages := map[model.Channel]bool{}, map[model.Direction]bool{}, map[string]bool{}
	var transfers, chats, histories int
	for _, a := range c.Agents {
		channels[a.Channel], directions[a.Direction], languages[a.Language] = true, true, true
		if a.IsCallTransferEnabled {
			require.Equal(t, model.ChannelPhone, a.Channel)
			transfers++
		}
		if a.KnowledgeBaseChatID != "" {
			chats++
		}
		if len(a.EarlierPrompts) > 0 {
			histories++
		}
	}
	require.Len(t, channels, len(model.AllChannel))
	require.Len(t, directions, len(model.AllDirection))
	require.Equal(t, map[string]bool{"en": true, "fr": true}, languages)
	require.Positive(t, transfers)
	require.Equal(t, 2, chats)
	require.Equal(t, 3, histories)
}

func TestDemoAgentsHaveRichSettings(t *testing.T) {
	t.Parallel()
	for _, a := range mustRead(t, "merrowby").Agents {
		between(t, utf8.RuneCountInString(a.Prompt), 600, 2500, a.Key)
		between(t, len(a.Fields), 3, 8, a.Key)
		between(t, len(a.ClassificationTags), 4, 8, a.Key)
		between(t, len(a.ExtractedValues), 2, 5, a.Key)
		between(t, len(a.ToolIDs), 2, 6, a.Key)
		require.NotEmpty(t, a.Tags, a.Key)
		require.True(t, slices.ContainsFunc(a.Fields, func(f *model.AgentField) bool { return f.IsMandatory }), a.Key)
		require.True(t, slices.ContainsFunc(a.Fields, func(f *model.AgentField) bool { return f.IsSystem }), a.Key)
		require.True(t, slices.ContainsFunc(a.ClassificationTags,
			func(c *model.ClassificationTag) bool { return c.IsSystem }), a.Key)
		for _, kind := range model.AllExtractedValueType {
			require.True(t, slices.ContainsFunc(a.ExtractedValues, func(v *model.ExtractedValue) bool { return v.Type == kind }),
				a.Key)
		}
	}
}

func between(t *testing.T, n, least, most int, name string) {
	t.Helper()
	require.GreaterOrEqual(t, n, least, name)
	require.LessOrEqual(t, n, most, name)
}

func TestEveryPlaceholderIsAField(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c company) {
		for _, a := range c.Agents {
			fields := keysOf(t, a.Fields, func(f *model.AgentField) string { return f.Name })
			created, err := model.NewAgent(a.CreateAgentInput, time.Now())
			require.NoError(t, err)
			welcome := created.WelcomeMessage()
			require.NotNil(t, welcome, a.Key)
			require.Regexp(t, placeholder, *welcome, a.Key)

			var greetings []string
			for _, greeting := range []*string{a.InboundWelcomeMessage, a.OutboundWelcomeMessage} {
				if greeting != nil {
					greetings = append(greetings, *greeting)
				}
			}
			// A contact must never see a placeholder, so only the prompt may use fields that can be empty.
			for _, found := range placeholder.FindAllStringSubmatch(strings.Join(greetings, "\n"), -1) {
				require.True(t, slices.ContainsFunc(a.Fields, func(f *model.AgentField) bool {
					return f.Name == found[1] && (f.IsMandatory || f.IsSystem)
				}), "%s: a welcome message has {%s}, which may have no value", a.Key, found[1])
			}
			texts := append(a.prompts(), greetings...)
			for _, text := range texts {
				for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
					require.Contains(t, fields, found[1], a.Key)
				}
			}
			for _, field := range fields {
				require.Contains(t, strings.Join(texts, "\n"), "{"+field+"}", "%s: the field serves nothing", a.Key)
			}
		}
	})
}

func TestParametersAreDescribed(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c company) {
		for _, in := range c.Tools {
			schema := struct {
				Properties map[string]struct{ Description string }
				Required   []string
				AnyOf      []struct{ Required []string }
			}{}
			require.NoError(t, json.Unmarshal(in.Parameters, &schema), in.TechnicalName)
			require.NotEmpty(t, schema.Properties, in.TechnicalName)
			for name, property := range schema.Properties {
				require.NotEmpty(t, property.Description, "%s.%s", in.TechnicalName, name)
			}
			required := schema.Required
			for _, alternative := range schema.AnyOf {
				required = append(required, alternative.Required...)
			}
			require.NotEmpty(t, required, in.TechnicalName)
			for _, name := range required {
				require.Contains(t, schema.Properties, name, in.TechnicalName)
			}
			if in.Endpoint != nil {
				require.True(t, strings.HasPrefix(in.Endpoint.URL, "https://api.example.com/"), in.Endpoint.URL)
				require.Empty(t, in.Endpoint.Headers, in.TechnicalName)
			}
		}
	})
}

func TestSubAgentsNestAndCycle(t *testing.T) {
	t.Parallel()
	edges := map[string][]string{}
	for _, a := range mustRead(t, "merrowby").Agents {
		for _, edge := range a.SubAgents {
			edges[a.Key] = append(edges[a.Key], edge.DelegateAgentID)
		}
	}
	var deepest int
	var cyclic bool
	var walk func(path []string)
	walk = func(path []string) {
		deepest = max(deepest, len(path)-1)
		for _, next := range edges[path[len(path)-1]] {
			if slices.Contains(path, next) {
				cyclic = true
				continue
			}
			walk(append(slices.Clone(path), next))
		}
	}
	for start := range edges {
		walk([]string{start})
	}
	require.GreaterOrEqual(t, deepest, 3)
	require.True(t, cyclic)
}

func TestEveryAgentHasTestsOfBothKinds(t *testing.T) {
	t.Parallel()
	c := mustRead(t, "merrowby")
	var agents, keys []string
	var tests, folders int
	outcomes := map[model.AgentTestRunStatus]int{}
	for _, group := range c.AgentTests {
		agents = append(agents, group.Agent)
		between(t, len(group.Simulations), 3, 10, group.Agent)
		require.NotEmpty(t, group.Classifications, group.Agent)
		between(t, len(group.Folders), 1, 4, group.Agent)
		folders += len(group.Folders)
		for _, f := range group.Folders {
			require.NotEmpty(t, f.Body, f.Key)
		}
		for _, s := range group.Simulations {
			keys = append(keys, s.Key)
			outcomes[s.Expect]++
			mocking := s.ToolMocking
			if mocking == nil {
				mocking = group.ToolMocking
			}
			require.True(t, mocking.MockAllTools && mocking.Denies(), "%s: nothing real may happen", s.Key)
		}
		for _, s := range group.Classifications {
			keys = append(keys, s.Key)
			outcomes[s.Expect]++
		}
		tests = len(keys)
	}
	all := keysOf(t, c.Agents, func(a agent) string { return a.Key })
	require.ElementsMatch(t, all, agents)
	keysOf(t, keys, func(key string) string { return key })
	require.GreaterOrEqual(t, tests, 30)
	require.GreaterOrEqual(t, folders, len(all))
	require.Equal(t, map[model.AgentTestRunStatus]int{
		model.AgentTestRunStatusPassed: tests - 3, model.AgentTestRunStatusFailed: 2, model.AgentTestRunStatusError: 1,
	}, outcomes)
	// The history has a date for every agent and every version of its prompt.
	for _, a := range c.Agents {
		require.Len(t, c.History.DaysAgo[a.Key], len(a.prompts()), a.Key)
		require.IsDecreasing(t, append(c.History.DaysAgo[a.Key], 0), a.Key)
	}
}

func TestDemoPhoneNumbersAreFictitious(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`\+?[0-9][0-9 -]{7,}[0-9]`)
	fictional := regexp.MustCompile(
		`^(\+1-555-01[0-9]{2}|(\+1 )?[2-9][0-9]{2}[ -]555[ -]01[0-9]{2}|01632 960 ?[0-9]{3}|(\+44 ?|0)7700 ?900 ?[0-9]{3}` +
			`|(\+44 |0)(20 7946 0|1(13|17|21|31|41|61) 496 0|191 498 0)[0-9]{3}|(\+33 |0)1 99 00 [0-9]{2} [0-9]{2}|06 39 98 [0-9]{2} [0-9]{2})$`)
	var found int
	for _, folder := range []string{"merrowby", "tansy_lane"} {
		require.NoError(t, fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := files.ReadFile(name)
			for _, candidate := range number.FindAllString(strings.ReplaceAll(string(text), "#", "0"), -1) {
				if isDate(candidate) {
					continue
				}
				require.Regexp(t, fictional, candidate, name)
				found++
			}
			return err
		}))
	}
	require.Positive(t, found)
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// In examples, "|" separates several texts only on the lines with a contact's words.
func TestExamplesSpeakNoSeparators(t *testing.T) {
	t.Parallel()
	eachCompany(t, func(t *testing.T, c company) {
		for _, a := range c.Agents {
			for line := range strings.Lines(a.Prompt) {
				if key, text, ok := strings.Cut(line, ": "); ok && slices.Contains([]string{"Agent", "Offer", "Can", "Confirm"}, key) {
					require.NotContains(t, text, "|", a.Key)
				}
			}
		}
	})
}
