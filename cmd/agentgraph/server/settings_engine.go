package server

import (
	"slices"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// agentFlags configure the engine: models, knowledge, conversations and prices.
type agentFlags struct {
	app.EngineOptions
	Workers        int
	RunsPerCompany int
	MaxStored      int64
	// modelKeyVariables are the variables that the list of models names. Some may be "".
	modelKeyVariables []string
}

func (f *agentFlags) Declare() cli.Flags {
	return slices.Concat(f.models(), f.testModels(), f.knowledge(), f.conversations(), f.prices())
}

// defaultModel is the agents' model if the operator names none.
const defaultModel = "gpt-4.1-mini"

func (f *agentFlags) models() cli.Flags {
	return cli.Flags{
		{Into: &f.Provider.Key, Name: "openai-api-key", Env: "OPENAI_API_KEY", Placeholder: "KEY", Secret: true,
			Help: "Key of the OpenAI-compatible provider. Without a key and a base URL, agents use the offline model."},
		{Into: &f.Provider.BaseURL, Name: "openai-base-url", Env: "OPENAI_BASE_URL", Placeholder: "URL",
			Help: "Address of the provider, before /chat/completions."},
		{Into: &f.Provider.Model, Name: "model", Env: "AGENTGRAPH_MODEL", Default: defaultModel,
			Help: "The default language model of the agents."},
		{Into: &f.Provider.Timeout, Name: "model-timeout", Env: "AGENTGRAPH_MODEL_TIMEOUT", Default: "25s",
			Help: "How long one response of the model may take."},
		{Into: modelsIn(&f.Models, &f.modelKeyVariables), Name: "models", Env: "AGENTGRAPH_MODELS", Placeholder: "PATH",
			Help: "YAML or JSON file with further models, which agents can choose. --model, --question-model, " +
				"--judge-model, --judge-models and --contact-model can name them too.",
			Docs: "See [several models](models.md)."},
		{Into: &f.QuestionModel, Name: "question-model", Env: "AGENTGRAPH_QUESTION_MODEL", Placeholder: "MODEL",
			Help: "A small model that rewrites the contact's message into a question for the knowledge base, from the " +
				"conversation. Default: the message is the question."},
	}
}

// testModels returns the flags of the models that judge tests and play contacts.
func (f *agentFlags) testModels() cli.Flags {
	const provider = "Default: the language model's."
	const key = "Default: the language model's, if the address is the same."
	return cli.Flags{
		{Into: &f.Judge.Model, Name: "judge-model", Env: "AGENTGRAPH_JUDGE_MODEL", Placeholder: "MODEL",
			Help: "The model that judges agent tests. Default: the agents' model, which then judges itself.",
			Docs: "See [use a separate judge](../reference/judging.md#use-a-separate-judge)."},
		{Into: &f.Judge.BaseURL, Name: "judge-base-url", Env: "AGENTGRAPH_JUDGE_BASE_URL", Placeholder: "URL",
			Help: "Address of the judge's provider, before /chat/completions. " + provider},
		{Into: &f.Judge.Key, Name: "judge-api-key", Env: "AGENTGRAPH_JUDGE_API_KEY", Placeholder: "KEY", Secret: true,
			Help: "Key of the judge's provider. " + key},
		{Into: &f.Judges, Name: "judge-models", Env: "AGENTGRAPH_JUDGE_MODELS", Placeholder: "MODEL,…",
			Help: "Further models of the judge's provider. Users may choose them to judge test conversations again.",
			Docs: "See [judge again](../guides/failing-tests.md#judge-again)."},
		{Into: &f.Contact.Model, Name: "contact-model", Env: "AGENTGRAPH_CONTACT_MODEL", Placeholder: "MODEL",
			Help: "The model that plays the contacts in agent tests. Default: the agents' model."},
		{Into: &f.Contact.BaseURL, Name: "contact-base-url", Env: "AGENTGRAPH_CONTACT_BASE_URL", Placeholder: "URL",
			Help: "Address of the contacts' provider, before /chat/completions. " + provider},
		{Into: &f.Contact.Key, Name: "contact-api-key", Env: "AGENTGRAPH_CONTACT_API_KEY", Placeholder: "KEY",
			Secret: true, Help: "Key of the contacts' provider. " + key},
		{Into: &f.ReviewContacts, Name: "review-contacts", Env: "AGENTGRAPH_REVIEW_CONTACTS", Default: "true",
			Negatable: true, Help: "Asks the judge once after each simulation whether the contact kept its role. " +
				"Contacts that say only scripted messages are not reviewed. The console and `test run` show the price " +
				"before tests start.",
			Docs: "See [the simulated contact](../reference/judging.md#the-simulated-contact)."},
	}
}

// knowledge returns the flags of the models for knowledge, and the storage limit.
func (f *agentFlags) knowledge() cli.Flags {
	return cli.Flags{
		{Into: &f.Embedder.Model, Name: "embedding-model", Env: "AGENTGRAPH_EMBEDDING_MODEL", Placeholder: "NAME",
			Help: "The embedding model, which compares questions and documents by meaning. Without it they are compared " +
				"only by words. A path that begins with / or . is the folder of a static model, which needs no provider.",
			Docs: "See [knowledge](../reference/knowledge.md#embeddings-and-reranking)."},
		{Into: &f.Embedder.BaseURL, Name: "embedding-base-url", Env: "AGENTGRAPH_EMBEDDING_BASE_URL",
			Placeholder: "URL",
			Help: "Address of the embedding model's provider, before /embeddings. " +
				"Default: the language model's."},
		{Into: &f.Embedder.Key, Name: "embedding-api-key", Env: "AGENTGRAPH_EMBEDDING_API_KEY", Placeholder: "KEY",
			Secret: true,
			Help:   "Key of the embedding model's provider. Default: the language model's, if the address is the same."},
		{Into: &f.Reranker.URL, Name: "rerank-url", Env: "AGENTGRAPH_RERANK_URL", Placeholder: "URL",
			Help: "Full address of a reranker with the API of Cohere or Jina."},
		{Into: &f.Reranker.Key, Name: "rerank-api-key", Env: "AGENTGRAPH_RERANK_API_KEY", Placeholder: "KEY",
			Secret: true, Help: "Key of the reranker."},
		{Into: &f.Reranker.Models, Name: "rerank-model", Env: "AGENTGRAPH_RERANK_MODELS", Placeholder: "NAME",
			Help: "Model of the reranker that knowledge base chats may name."},
		{Into: &f.OCR.Program, Name: "ocr", Env: "AGENTGRAPH_OCR", Placeholder: "PROGRAM",
			Help: "Path or name of the program Tesseract, which reads text in images and scanned PDFs. Without it, such " +
				"files have no text."},
		{Into: &f.OCR.Languages, Name: "ocr-languages", Env: "AGENTGRAPH_OCR_LANGUAGES", Default: "eng",
			Placeholder: "LANGUAGES",
			Help:        "The languages of the text, by their names in Tesseract: eng+fra."},
		{Into: &f.MaxStored, Name: "max-stored-bytes", Env: "AGENTGRAPH_MAX_STORED_BYTES", Default: "10737418240",
			Help: "Maximum total size of one company's documents, in bytes; 0 for no limit.",
			Docs: "The server refuses a document that would exceed the limit, as `UNPROCESSABLE`. Chunks and vectors need " +
				"several times as much space and do not count."},
	}
}

// conversations returns the flags that limit conversations and the addresses that they may reach.
func (f *agentFlags) conversations() cli.Flags {
	return cli.Flags{
		{Into: &f.TurnTimeout, Name: "turn-timeout", Env: "AGENTGRAPH_TURN_TIMEOUT", Default: "10m",
			Help: "How long sendSimulationMessage may take, including calls and their delays. In test runs, whose mocks " +
				"may wait, it limits each answer of the model instead."},
		{Into: &f.MaxModelCalls, Name: "max-model-calls", Env: "AGENTGRAPH_MAX_MODEL_CALLS", Default: "25",
			Help: "Maximum number of model calls for one answer of an agent. Each sub-agent has the same limit. All of " +
				"them together may make 5 times as many."},
		{Into: &f.ToolAllow, Name: "tool-allow", Env: "AGENTGRAPH_TOOL_ALLOW", Placeholder: "HOST",
			Help: "Private host or CIDR that tools and webhooks may reach. By default they reach public addresses only."},
		{Into: &f.Workers, Name: "workers", Env: "AGENTGRAPH_WORKERS", Default: "10",
			Help: "How many jobs (test runs and documents to index) this process runs at once. It runs up to a quarter more " +
				"for companies that would otherwise wait for others. 0 leaves jobs, schedules and webhooks to other processes."},
		{Into: &f.RunsPerCompany, Name: "runs-per-company", Env: "AGENTGRAPH_RUNS_PER_COMPANY", Default: "50",
			Help: "How many jobs of one company run at once in all processes together. All processes need the same value."},
		{Into: &f.TransferWebhook, Name: "transfer-webhook", Env: "AGENTGRAPH_TRANSFER_WEBHOOK", Placeholder: "URL",
			Help: "Address of the telephony provider that transfers calls. Without it, transfers fail, and the agent " +
				"receives the reason."},
	}
}

// prices returns the flags of the prices of simulated chats and test runs, in credits with at most six decimals.
func (f *agentFlags) prices() cli.Flags {
	return cli.Flags{
		{Into: &f.Prices.Message, Name: "price-message", Env: "AGENTGRAPH_PRICE_MESSAGE", Default: "0.01",
			Placeholder: "CREDITS", Help: "Price in credits of a message that an agent writes in a simulated chat or a test."},
		{Into: &f.Prices.InputTokens, Name: "price-input-tokens", Env: "AGENTGRAPH_PRICE_INPUT_TOKENS", Default: "0.002",
			Placeholder: "CREDITS", Help: "Price in credits of a thousand input tokens of simulated chats and tests."},
		{Into: &f.Prices.OutputTokens, Name: "price-output-tokens", Env: "AGENTGRAPH_PRICE_OUTPUT_TOKENS",
			Default: "0.008", Placeholder: "CREDITS",
			Help: "Price in credits of a thousand output tokens of simulated chats and tests."},
	}
}
