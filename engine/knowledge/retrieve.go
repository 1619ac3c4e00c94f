package knowledge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Retrieve returns the chunks of the chat's datasets that help to answer the question, best first. There are at most
// topN, each with a score of at least similarityThreshold, with its content and document. There may be none. Retrieve
// takes a constant number of statements.
//
// The error is BAD_INPUT for a question that is empty or has more than 10,000 characters, and UNPROCESSABLE for
// datasets with vectors of several models. If an embedding model or a reranker fails, the failure is only logged, and
// chunks are found and ordered without it.
func (b *Base) Retrieve(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat,
	question string) ([]*model.RetrievedChunk, error) {
	return b.Examine(ctx, t, chat, question, 0)
}

// Examine is Retrieve for debugging. After the chunks of Retrieve, it returns the best chunks below the threshold. The
// number extra, 0 to 100, bounds how many. Without vectors, chunks without a word of the question are left out, unless
// the threshold is 0.
func (b *Base) Examine(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat, question string,
	extra int32) (found []*model.RetrievedChunk, err error) {
	// Reads do not count against the request's memory budget: the response contains far less, and questions share
	// reads.
	ctx, ended := b.observe(model.WithMemoryBudget(ctx, nil))
	defer func() { ended(len(aboveThreshold(found)), err) }()
	return b.retrieve(ctx, t, chat, question, extra)
}

// aboveThreshold returns the chunks that are not below the threshold. They come first in found.
func aboveThreshold(found []*model.RetrievedChunk) []*model.RetrievedChunk {
	for i, c := range found {
		if c.IsBelowThreshold {
			return found[:i:i]
		}
	}
	return found
}

func (b *Base) retrieve(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat, question string,
	extra int32) ([]*model.RetrievedChunk, error) {
	if err := model.ValidateQuestion(question, extra); err != nil {
		return nil, err
	}
	s, err := b.searchOf(ctx, t, chat, question)
	if err != nil || s.chunks == 0 {
		return []*model.RetrievedChunk{}, err
	}
	reranks := b.rerank.has(chat.PromptSettings.RerankModel)
	most := int(chat.PromptSettings.TopN)
	if reranks {
		most = max(most, rerankWindow)
	}
	chunks, err := s.candidates(ctx, chat.PromptSettings.SimilarityThreshold == 0)
	if err != nil {
		return nil, err
	}
	scored := s.score(chunks, chat.PromptSettings, extra > 0)
	enough := len(aboveThreshold(scored))
	rest := scored[enough:min(len(scored), enough+int(extra))]
	found, err := withContents(ctx, t, slices.Concat(scored[:min(enough, most)], rest))
	if err != nil {
		return nil, err
	}
	best := aboveThreshold(found)
	rest = found[len(best):]
	if reranks {
		best = b.reranked(ctx, chat.PromptSettings.RerankModel, question, best)
	}
	return slices.Concat(best[:min(len(best), int(chat.PromptSettings.TopN))], rest), nil
}

type search struct {
	base     *Base
	tenant   *db.Tenant
	datasets []string
	// versions are the versions of the datasets, in their order.
	versions []string
	// languages are the languages of the datasets. Words are stemmed by the rules of these languages.
	languages []string
	chunks    int
	tokens    []token
	// neighbors are the pairs of tokens that follow each other in the question. terms are Postgres's terms of all
	// tokens, without duplicates.
	neighbors [][2]int
	terms     []string
	// questionVector is the question's vector, or nil if vectors are not compared.
	questionVector []float32
	// cosines are the cosines of chunks and question, by chunk id. Chunks without a vector have none.
	cosines map[string]float64
}

func (b *Base) searchOf(ctx context.Context, t *db.Tenant, chat *model.KnowledgeBaseChat,
	question string) (*search, error) {
	datasets, err := t.SearchedDatasets(ctx, chat.ID)
	if err != nil {
		return nil, err
	}
	s := &search{base: b, tenant: t}
	var models []string
	for _, d := range datasets {
		s.datasets, s.versions = append(s.datasets, d.ID), append(s.versions, d.Version)
		s.chunks += d.Chunks
		s.languages = model.Unique(append(s.languages, d.Languages...))
		models = append(models, d.EmbeddingModels...)
	}
	if err := oneModel(models); err != nil || s.chunks == 0 {
		return s, err
	}
	if err := s.lookUp(ctx, question); err != nil {
		return nil, err
	}
	// Vectors without a weight in the score need not be compared.
	if len(models) > 0 && chat.PromptSettings.KeywordsSimilarityWeight < 1 {
		s.questionVector = b.embedQuestion(ctx, models[0], question)
	}
	return s, nil
}

// lookUp sets the tokens, neighbors and terms of the question. It finds how many chunks contain each word. If no chunk
// contains a word, lookUp guesses which words of the chunks are meant.
func (s *search) lookUp(ctx context.Context, question string) error {
	sequence, codes := allWordsOf(question), codesOf(question)
	words := model.Unique(sequence)
	asked := folded(sequence)
	known, err := s.tenant.Tokens(ctx, s.datasets, s.languages, slices.Concat(words, wholes(codes)))
	if err != nil {
		return err
	}
	s.tokens = tokensOf(slices.DeleteFunc(slices.Clone(known),
		func(w db.Token) bool { return !slices.Contains(asked, w.Word) }), s.languages, s.chunks)
	joinCodes(s.tokens, codes, known)
	weigh(s.tokens, s.chunks)
	if slices.ContainsFunc(s.tokens, token.isUnknown) {
		vocabularies, err := s.base.vocabularies.load(ctx, s.tenant, s.datasets, s.versions)
		if err != nil {
			return err
		}
		if err := s.base.guesses.Enter(ctx, s.tenant.CompanyID()); err != nil {
			return err
		}
		err = s.guess(ctx, vocabularies)
		s.base.guesses.Leave(s.tenant.CompanyID())
		if err != nil {
			return err
		}
	}
	s.neighbors = neighborsOf(asked, s.tokens)
	for _, t := range s.tokens {
		s.terms = append(s.terms, t.Terms...)
	}
	s.terms = model.Unique(s.terms)
	return nil
}

// maxCompared bounds the letters of the known words with which the unknown words of a question are compared, which
// takes up to a third of a second.
const maxCompared = 1_000_000

// guess splits unknown compounds of the question, and replaces other unknown words with the nearest known ones. It
// leaves words that are longer than any compound.
func (s *search) guess(ctx context.Context, known []*vocabulary) error {
	nearest, credits, partsByCompound := map[string][]string{}, map[string]float64{}, map[string][]string{}
	var all []string
	left := maxCompared
	for _, t := range s.tokens {
		letters := utf8.RuneCountInString(t.Word)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !t.isUnknown() || letters > maxCompound {
			continue
		}
		if hasCompounds(s.languages) {
			if parts := partsOf(known, t.Terms); parts != nil {
				partsByCompound[t.Word] = parts
				all = append(all, parts...)
				continue
			}
			if words, credit := compoundsOfKnown(known, t.Terms); len(words) > 0 {
				nearest[t.Word], credits[t.Word] = words, credit
				all = append(all, words...)
				continue
			}
		}
		compared := alike(known, t.Word)
		compared = compared[:min(len(compared), left/letters)]
		left -= len(compared) * letters
		words, credit := t.nearest(compared)
		if len(words) == 0 && hasCompounds(s.languages) {
			words, credit = relatedTo(known, t.Terms)
		}
		if len(words) > 0 {
			nearest[t.Word], credits[t.Word] = words, credit
			all = append(all, words...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	var meant []model.Word
	for _, word := range model.Unique(all) {
		meant = append(meant, model.Word{Folded: word})
	}
	words, err := s.tenant.Tokens(ctx, s.datasets, s.languages, meant)
	if err != nil {
		return err
	}
	s.tokens = splitCompounds(s.tokens, partsByCompound, words)
	for i := range s.tokens {
		t := &s.tokens[i]
		if taken := nearest[t.Word]; len(taken) > 0 {
			t.replaceTerms(
				slices.DeleteFunc(slices.Clone(words), func(w db.Token) bool { return !slices.Contains(taken, w.Word) }),
				credits[t.Word])
		}
	}
	weigh(s.tokens, s.chunks)
	return nil
}

// candidates returns the chunks that may have the best scores, with their terms. If all is true, they include chunks
// without a word of the question.
func (s *search) candidates(ctx context.Context, all bool) ([]db.ChunkTerms, error) {
	ids, err := s.likely(ctx, all)
	if err != nil {
		return nil, err
	}
	if s.questionVector != nil {
		near, err := s.nearest(ctx)
		if err != nil {
			return nil, err
		}
		if near, err = s.compare(ctx, ids, near); err != nil {
			return nil, err
		}
		ids = model.Unique(append(ids, near...))
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return s.tenant.TermsOfChunks(ctx, ids, s.terms)
}

// score returns the chunks with a sufficient score, or all chunks if all is true. They are sorted by score, best first.
// Scores are at most 1. If there are no vectors, chunks with equal scores are sorted by their scores before this limit.
// Chunks that are still equal are sorted by document and position.
func (s *search) score(chunks []db.ChunkTerms, settings model.PromptSettings, all bool) []*model.RetrievedChunk {
	comparable := slices.ContainsFunc(slices.Collect(maps.Values(s.cosines)), func(c float64) bool { return c > 0 })
	scored, unbounded := []*model.RetrievedChunk{}, map[string]float64{}
	terms := newScorer(s.tokens, s.neighbors, s.terms, chunks)
	for _, held := range chunks {
		c := &model.RetrievedChunk{Chunk: &model.Chunk{ID: held.ID, DocumentID: held.DocumentID, Position: held.Position}}
		matched, sum := terms.score(held)
		c.MatchedTerms, c.TermSimilarity = matched, min(sum, 1)
		c.Score = c.TermSimilarity
		if s.questionVector == nil {
			unbounded[held.ID] = sum
		} else {
			vector := s.cosines[held.ID]
			c.VectorSimilarity = &vector
			if comparable {
				c.Score = blend(c.TermSimilarity, vector, settings.KeywordsSimilarityWeight)
			}
		}
		if c.IsBelowThreshold = c.Score < settings.SimilarityThreshold; all || !c.IsBelowThreshold {
			scored = append(scored, c)
		}
	}
	slices.SortFunc(scored, func(a, b *model.RetrievedChunk) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(unbounded[b.ID], unbounded[a.ID]),
			cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Position, b.Position))
	})
	return scored
}

// withContents adds the contents and documents of chunks. It omits chunks that were deleted concurrently.
func withContents(ctx context.Context, t *db.Tenant, found []*model.RetrievedChunk) ([]*model.RetrievedChunk, error) {
	if len(found) == 0 {
		return found, nil
	}
	chunkIDs, documentIDs := make([]string, len(found)), make([]string, len(found))
	for i, f := range found {
		chunkIDs[i], documentIDs[i] = f.ID, f.DocumentID
	}
	chunks, err := t.ChunksByID(ctx, chunkIDs, "dataset_id", "document_id", "position", "content", "tokens")
	if err != nil {
		return nil, err
	}
	documents, err := t.DocumentsByID(ctx, model.Unique(documentIDs))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(f *model.RetrievedChunk) bool {
		chunk := slices.IndexFunc(chunks, func(c *model.Chunk) bool { return c.ID == f.ID })
		document := slices.IndexFunc(documents, func(d *model.Document) bool { return d.ID == f.DocumentID })
		if chunk < 0 || document < 0 {
			return true
		}
		f.Chunk, f.Document = chunks[chunk], documents[document]
		return false
	}), nil
}
