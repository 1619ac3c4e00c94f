package model

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// KnowledgeBaseChat is a set of datasets and the settings with which an agent answers from them.
type KnowledgeBaseChat struct {
	bun.BaseModel `bun:"table:knowledge_base_chats,alias:knowledge_base_chat"`
	Owned

	ID             string `bun:",pk"`
	Name           string
	LlmSettings    LlmSettings    `bun:"type:jsonb"`
	PromptSettings PromptSettings `bun:"type:jsonb"`
	CreatedAt      time.Time
	UpdatedAt      *time.Time
}

// LlmSettings configures the language model.
type LlmSettings struct {
	Temperature      float64 `json:"temperature"`
	TopP             float64 `json:"topP"`
	PresencePenalty  float64 `json:"presencePenalty"`
	FrequencyPenalty float64 `json:"frequencyPenalty"`
}

// Input returns the input that sets all of the settings.
func (s LlmSettings) Input() *LlmSettingsInput {
	return &LlmSettingsInput{Temperature: &s.Temperature, TopP: &s.TopP, PresencePenalty: &s.PresencePenalty,
		FrequencyPenalty: &s.FrequencyPenalty}
}

// PromptSettings configures the retrieval and the use of knowledge.
type PromptSettings struct {
	SimilarityThreshold      float64 `json:"similarityThreshold"`
	KeywordsSimilarityWeight float64 `json:"keywordsSimilarityWeight"`
	TopN                     int32   `json:"topN"`
	Prompt                   string  `json:"prompt"`
	Opener                   string  `json:"opener"`
	EmptyResponse            string  `json:"emptyResponse"`
	RerankModel              string  `json:"rerankModel"`
	ShowQuote                bool    `json:"showQuote"`
}

const defaultKnowledgePrompt = "Answer from the knowledge below. When it does not hold the answer, say " +
	"so.\n\n{knowledge}"

// Cursor returns the position of this object in a list of chats.
func (c *KnowledgeBaseChat) Cursor() Cursor { return Cursor{c.CreatedAt, c.ID} }

// ChangedAt returns the time of the last change, or of the creation if there was no change.
func (c *KnowledgeBaseChat) ChangedAt() time.Time { return *cmp.Or(c.UpdatedAt, &c.CreatedAt) }

// The default settings of a knowledge base chat.
var (
	DefaultLlmSettings    = LlmSettings{Temperature: 0.1, TopP: 0.3, PresencePenalty: 0.4, FrequencyPenalty: 0.7}
	DefaultPromptSettings = PromptSettings{
		SimilarityThreshold: 0.2, KeywordsSimilarityWeight: 0.7, TopN: 6, Prompt: defaultKnowledgePrompt, ShowQuote: true,
	}
)

// NewKnowledgeBaseChat returns the chat that the input describes, with defaults for missing fields. The db package
// connects its datasets. rerankModels are the configured models.
func NewKnowledgeBaseChat(in CreateKnowledgeBaseChatInput, now time.Time,
	rerankModels ...string) (*KnowledgeBaseChat, error) {
	c := &KnowledgeBaseChat{
		ID: NewID("kbchat"), CreatedAt: now,
		LlmSettings: DefaultLlmSettings, PromptSettings: DefaultPromptSettings,
	}
	return c, c.merge(&in.Name, len(in.DatasetIds), len(in.DatasetIds), in.LlmSettings, in.PromptSettings, rerankModels)
}

// Validate returns BAD_INPUT with every bound that the input alone breaks.
func (in UpdateKnowledgeBaseChatInput) Validate() error {
	any := KnowledgeBaseChat{Name: "any"}
	given := len(in.DatasetIds)
	err := any.merge(in.Name, given, given, in.LlmSettings, in.PromptSettings, nil)
	var known *Error
	if errors.As(err, &known) && known.Code == BadInput {
		return err
	}
	return nil
}

// Update applies all fields that the input sets, and merges objects key by key. It returns BAD_INPUT with every fault
// that the input alone shows. If there are none, it returns UNPROCESSABLE with the faults that depend on the chat or on
// rerankModels, the configured models. datasets is the future number of the chat's datasets.
func (c *KnowledgeBaseChat) Update(in UpdateKnowledgeBaseChatInput, datasets int, now time.Time,
	rerankModels ...string) error {
	before := *c
	err := c.merge(in.Name, len(in.DatasetIds), datasets, in.LlmSettings, in.PromptSettings, rerankModels)
	if in.DatasetIds != nil || *c != before {
		at := NextUpdatedAt(c.ChangedAt(), now)
		c.UpdatedAt = &at
	}
	return err
}

func (c *KnowledgeBaseChat) merge(name *string, given, datasets int, llm *LlmSettingsInput, prompt *PromptSettingsInput,
	rerankModels []string) error {
	setIfGiven(&c.Name, name)
	var faults Fields
	faults.name("name", c.Name, 255)
	faults.list("datasetIds", given, maxValueObjects)
	c.mergeSettings(&faults, "", llm, prompt)
	forgets := datasets > 0 && !c.usesKnowledge()
	// A fault that the request alone shows is BAD_INPUT.
	if forgets && given > 0 && prompt != nil && prompt.Prompt != nil {
		faults.Add("promptSettings.prompt", "must contain {knowledge} when a dataset is connected")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if forgets {
		faults.Add("promptSettings.prompt", "must contain {knowledge} when a dataset is connected")
	}
	// A model that is no longer configured does not block other changes.
	if prompt != nil && prompt.RerankModel != nil {
		faults.rerankModel("promptSettings", c.PromptSettings.RerankModel, rerankModels)
	}
	return faults.As(Unprocessable)
}

// usesKnowledge reports whether the prompt has a place for the chunks.
func (c *KnowledgeBaseChat) usesKnowledge() bool {
	return strings.Contains(c.PromptSettings.Prompt, "{knowledge}")
}

// mergeSettings sets the given settings, and records those that break a bound. path is the prefix of their names.
func (c *KnowledgeBaseChat) mergeSettings(f *Fields, path string, llm *LlmSettingsInput, prompt *PromptSettingsInput) {
	if llm != nil {
		f.number(path+"llmSettings.temperature", llm.Temperature, 0, 2)
		f.number(path+"llmSettings.topP", llm.TopP, 0, 1)
		f.number(path+"llmSettings.presencePenalty", llm.PresencePenalty, -2, 2)
		f.number(path+"llmSettings.frequencyPenalty", llm.FrequencyPenalty, -2, 2)
		setIfGiven(&c.LlmSettings.Temperature, llm.Temperature)
		setIfGiven(&c.LlmSettings.TopP, llm.TopP)
		setIfGiven(&c.LlmSettings.PresencePenalty, llm.PresencePenalty)
		setIfGiven(&c.LlmSettings.FrequencyPenalty, llm.FrequencyPenalty)
	}
	if prompt != nil {
		c.PromptSettings.merge(f, path+"promptSettings", prompt)
	}
}

func (f *Fields) rerankModel(path, name string, configured []string) {
	switch {
	case name == "" || slices.Contains(configured, name):
	case len(configured) == 0:
		f.Add(path+".rerankModel", "must be empty: no rerank model is configured")
	default:
		f.Add(path+".rerankModel", "must be empty or one of %s", strings.Join(configured, ", "))
	}
}

func (s *PromptSettings) merge(faults *Fields, path string, in *PromptSettingsInput) {
	faults.number(path+".similarityThreshold", in.SimilarityThreshold, 0, 1)
	faults.number(path+".keywordsSimilarityWeight", in.KeywordsSimilarityWeight, 0, 1)
	faults.count(path+".topN", in.TopN, 1, 100)
	faults.optional(path+".prompt", in.Prompt, MaxPromptLength)
	faults.optional(path+".opener", in.Opener, 5_000)
	faults.optional(path+".emptyResponse", in.EmptyResponse, 5_000)
	setIfGiven(&s.SimilarityThreshold, in.SimilarityThreshold)
	setIfGiven(&s.KeywordsSimilarityWeight, in.KeywordsSimilarityWeight)
	setIfGiven(&s.TopN, in.TopN)
	setIfGiven(&s.Prompt, in.Prompt)
	setIfGiven(&s.Opener, in.Opener)
	setIfGiven(&s.EmptyResponse, in.EmptyResponse)
	setIfGiven(&s.RerankModel, in.RerankModel)
	setIfGiven(&s.ShowQuote, in.ShowQuote)
}

// Trying returns a copy of the chat with other prompt settings. Nothing is saved. Without settings it returns the chat
// itself. It returns BAD_INPUT when they break a bound, and UNPROCESSABLE when they name a rerank model that is not
// configured.
func (c *KnowledgeBaseChat) Trying(settings *PromptSettingsInput, rerankModels ...string) (*KnowledgeBaseChat, error) {
	if settings == nil {
		return c, nil
	}
	tried := *c
	var faults Fields
	tried.PromptSettings.merge(&faults, "settings", settings)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if settings.RerankModel != nil {
		faults.rerankModel("settings", tried.PromptSettings.RerankModel, rerankModels)
	}
	return &tried, faults.As(Unprocessable)
}

// Validate returns BAD_INPUT when the id of the chat is empty or too long.
func (in ConnectKnowledgeBaseChatInput) Validate() error {
	var faults Fields
	faults.text("chatId", in.ChatID, 1, 64)
	return faults.Err()
}
