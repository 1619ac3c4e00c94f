package provider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const (
	// textsPerRequest and bytesPerRequest bound one request. Providers accept about 2,048 texts and 300,000 tokens.
	textsPerRequest = 128
	bytesPerRequest = 256 << 10
	// maxEmbedded bounds the embedded part of a text, in bytes. Models accept about 8,192 tokens.
	maxEmbedded = 16 << 10
	// maxVectorBytes bounds a response. A number takes about 12 bytes.
	maxVectorBytes = 64 << 20
)

// Embedder is an llm.Embedder for one embedding model of one provider. From the environment it reads only the usual
// proxy settings.
type Embedder struct {
	// model creates the errors for failures of the provider.
	model *Model
}

type vectorList struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// NewEmbedder returns the embedding model of config, or an error that names the invalid setting. It does not call the
// provider. Timeout bounds one request for up to 128 vectors, retries included.
func NewEmbedder(config Config) (*Embedder, error) {
	model, err := New(config)
	if err != nil {
		return nil, err
	}
	model.role = "the embedding model"
	return &Embedder{model: model}, nil
}

// Name returns the model's name as the provider spells it.
func (e *Embedder) Name() string { return e.model.Name() }

// Embed implements llm.Embedder. A temporary failure is retried at most twice.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		some := batch(texts)
		texts = texts[len(some):]
		made, err := e.embed(ctx, some)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, made...)
	}
	for _, vector := range vectors {
		if len(vector) == 0 || len(vector) != len(vectors[0]) {
			return nil, e.model.newError(llm.Malformed, http.StatusOK, "the provider answered with vectors of different lengths")
		}
	}
	return vectors, nil
}

// batch returns the first texts, up to the bounds of one request, each cut to maxEmbedded.
func batch(texts []string) []string {
	var some []string
	size := 0
	for _, text := range texts {
		if len(text) > maxEmbedded {
			text = strings.ToValidUTF8(text[:maxEmbedded], "")
		}
		if size += len(text); len(some) == textsPerRequest || len(some) > 0 && size > bytesPerRequest {
			break
		}
		if strings.TrimSpace(text) == "" {
			text = "-" // providers refuse a text without content
		}
		some = append(some, text)
	}
	return some
}

func (e *Embedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	whole, cancel := context.WithTimeoutCause(ctx, e.model.config.Timeout, errTimeout)
	defer cancel()
	for retries := 0; ; retries++ {
		vectors, err := e.embedOnce(whole, texts)
		if err == nil {
			return vectors, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if delay, again := backoff(err, retries); !again || !sleep(whole, delay) {
			return nil, err
		}
	}
}

func (e *Embedder) embedOnce(ctx context.Context, texts []string) ([][]float32, error) {
	a := attempt{model: e.model}
	answer, err := a.vectors(ctx, object{"model": e.model.config.Model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, a.vectorsFailure(ctx, err)
	}
	vectors := make([][]float32, len(texts))
	for _, made := range answer.Data {
		if made.Index < 0 || made.Index >= len(vectors) || vectors[made.Index] != nil {
			return nil, a.answered(llm.Malformed, " with vectors of other texts than those that were sent")
		}
		vectors[made.Index] = made.Embedding
	}
	if slices.ContainsFunc(vectors, func(v []float32) bool { return len(v) == 0 }) {
		return nil, a.answered(llm.Malformed, " with fewer vectors than texts")
	}
	return vectors, nil
}

// vectors requests vectors. It records the status and bounds the read, like open.
func (a *attempt) vectors(ctx context.Context, body object) (answer vectorList, err error) {
	res, err := a.model.client.post(ctx, "embeddings", "application/json", body)
	if err != nil {
		return answer, err
	}
	defer func() { _ = res.Body.Close() }()
	if a.status = res.StatusCode; a.status != http.StatusOK {
		return answer, a.refusal(res)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxVectorBytes+1))
	if err != nil {
		return answer, err
	}
	if len(text) > maxVectorBytes {
		return answer, a.answered(llm.TooLong, " with more than %d bytes", maxVectorBytes)
	}
	return answer, json.Unmarshal(text, &answer)
}

// vectorsFailure returns the error of a failed request for vectors.
func (a *attempt) vectorsFailure(ctx context.Context, err error) error {
	var known *llm.Error
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &known):
		return known
	case context.Cause(ctx) != nil:
		return a.model.newError(llm.TimedOut, a.status, "the provider did not answer in time")
	case a.status == 0:
		return a.unreached(err)
	case errors.As(err, &syntax):
		return a.answered(llm.Malformed, ", but not with JSON")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(interface{ Timeout() bool })):
		return a.answered(llm.CutOff, ", but the connection ended before the answer did")
	}
	return a.answered(llm.Malformed, ", but not with a list of vectors")
}
