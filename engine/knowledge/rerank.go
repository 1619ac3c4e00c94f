package knowledge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// rerankWindow is the minimum number of chunks to rerank, if enough were found.
	rerankWindow = 64
	// rerankTimeout bounds the time for reranking the chunks of a question.
	rerankTimeout = 10 * time.Second
	// maxRanking bounds the response of a reranker, in bytes.
	maxRanking = 1 << 20
)

// Reranker is a service that orders texts by how well they answer a question, with the protocol that Cohere and Jina
// share.
type Reranker struct {
	// URL is the full URL, such as https://api.jina.ai/v1/rerank.
	URL string
	// Key is sent as a bearer token, unless it is empty.
	Key string
	// Models are the names of the service's models.
	Models []string
	// Around wraps the transport of requests. It may be nil.
	Around func(http.RoundTripper) http.RoundTripper
	// Observe is called before a request. The request uses the returned context. The returned function is called with
	// the error after the request. Observe may be nil.
	Observe func(ctx context.Context, model string) (context.Context, func(error))
}

// Validate returns an error that names an invalid setting. Without a URL there must be no models.
func (r Reranker) Validate() error {
	if r.URL == "" && len(r.Models) == 0 {
		return nil
	}
	// The error does not repeat the URL, because URLs may contain passwords.
	address, err := url.Parse(r.URL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return errors.New("the reranker's address is not an http or https URL: set AGENTGRAPH_RERANK_URL")
	}
	if len(r.Models) == 0 || slices.Contains(r.Models, "") {
		return errors.New("the reranker needs at least one model: set AGENTGRAPH_RERANK_MODELS")
	}
	return nil
}

func (r Reranker) has(name string) bool { return name != "" && slices.Contains(r.Models, name) }

// reranked returns the chunks in the order of the reranker. If it fails, they keep their order: an answer from somewhat
// worse chunks is better than none.
func (b *Base) reranked(ctx context.Context, name, question string,
	found []*model.RetrievedChunk) []*model.RetrievedChunk {
	if len(found) < 2 {
		return found
	}
	documents := model.Map(found, func(f *model.RetrievedChunk) string { return f.Content })
	ranks, err := b.rerank.rank(ctx, name, question, documents)
	if err != nil {
		b.log.WarnContext(ctx, "could not rerank chunks", "model", name, "error", err)
		return found
	}
	rankOf := make(map[*model.RetrievedChunk]float64, len(found))
	for i, f := range found {
		rankOf[f] = ranks[i]
	}
	// The sort is stable: documents that the reranker finds equal or omits keep their order.
	return slices.SortedStableFunc(slices.Values(found),
		func(a, b *model.RetrievedChunk) int { return cmp.Compare(rankOf[b], rankOf[a]) })
}

// rank returns the relevance of each document. Documents that the service omits have the lowest.
func (r Reranker) rank(ctx context.Context, name, question string, documents []string) (ranks []float64, err error) {
	if r.Observe != nil {
		var ended func(error)
		ctx, ended = r.Observe(ctx, name)
		defer func() { ended(err) }()
	}
	ctx, cancel := context.WithTimeout(ctx, rerankTimeout)
	defer cancel()
	body, _ := json.Marshal(map[string]any{ // strings cannot fail to marshal
		"model": name, "query": question, "documents": documents, "top_n": len(documents),
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the reranker's address is wrong")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.Key)
	}
	client := http.Client{Transport: http.DefaultTransport}
	if r.Around != nil {
		client.Transport = r.Around(client.Transport)
	}
	res, err := client.Do(req)
	if err != nil {
		// The error omits the URL, which may contain a password.
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return nil, fmt.Errorf("ask the reranker: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the reranker answered %d", res.StatusCode)
	}
	var answer struct {
		Results []struct {
			Index          int     `json:"index"`
			RelevanceScore float64 `json:"relevance_score"`
		} `json:"results"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxRanking)).Decode(&answer); err != nil {
		return nil, errors.New("the reranker's answer is not the JSON that was expected")
	}
	if len(answer.Results) == 0 {
		return nil, errors.New("the reranker's answer has no results")
	}
	ranks = slices.Repeat([]float64{math.Inf(-1)}, len(documents))
	for _, result := range answer.Results {
		if result.Index < 0 || result.Index >= len(ranks) {
			return nil, errors.New("the reranker's answer names a document that was not sent")
		}
		ranks[result.Index] = result.RelevanceScore
	}
	return ranks, nil
}
