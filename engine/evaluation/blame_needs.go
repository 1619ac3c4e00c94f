package evaluation

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of the texts and words to look for in each change.
const (
	maxNeededTexts = 20
	maxNeededWords = 100
)

// How much each finding adds to the suspicion of a change. A text that a check names outweighs any number of words.
const (
	lostText, foreignText = 100, 50
	lostWord, movedWord   = 3, 1
	maxOfWords            = foreignText - 1
)

var (
	// quotedText is a text in quotation marks in a criterion.
	quotedText = lazyregexp.New(`["“„«]([^"“”„«»]+)["”“»]`)
	// namedCall is the name of a call in a criterion.
	namedCall = lazyregexp.New(`\b(?:calls?|called) ([a-z][a-z0-9_]*)|\b([a-z0-9]+(?:_[a-z0-9]+)+)\b`)
	// prohibition begins a criterion that holds if something is absent.
	prohibition = lazyregexp.New(`(?i)^(?:the agent )?(?:never|does not|must not) `)
)

// needs are what the failed checks and criteria of a run look for in a conversation.
type needs struct {
	texts []neededText
	// words are folded words of checks and criteria that name no text or call. They include the words of the evidence for
	// the same checks and criteria in the passed run.
	words []string
}

// neededText is a text or a regular expression.
type neededText struct {
	quote      read.Quote
	expression *model.Expression
	// isUnwanted is set if the text must be absent from the conversation.
	isUnwanted bool
}

// needsOf returns the needs of a failed run. good is a run that passed.
func needsOf(good, bad *model.AgentTestRun) needs {
	n := needs{}
	for i, result := range bad.CheckResults {
		if !result.Passed {
			var quotes []model.Evidence
			if i < len(good.CheckResults) && good.CheckResults[i].Check.Description() == result.Check.Description() {
				quotes = good.CheckResults[i].Evidence
			}
			n.addCheck(&result, quotes)
		}
	}
	for _, result := range bad.CriteriaResults {
		if !result.Passed {
			var quotes []model.Evidence
			at := slices.IndexFunc(good.CriteriaResults,
				func(g model.CriterionResult) bool { return g.Criterion == result.Criterion })
			if at >= 0 {
				quotes = good.CriteriaResults[at].Evidence
			}
			n.addCriterion(result.Expected(), quotes)
		}
	}
	if result := bad.ClassificationResult; result != nil && !result.Passed {
		n.addText(result.TagExpected, false)
	}
	n.texts = n.texts[:min(len(n.texts), maxNeededTexts)]
	n.words = model.Unique(n.words)
	n.words = n.words[:min(len(n.words), maxNeededWords)]
	return n
}

// addCheck adds the texts of a check or, if it has none, its words. A check with placeholders is read as it was filled
// in the run.
func (n *needs) addCheck(result *model.CheckResult, quotes []model.Evidence) {
	if result.Filled != "" {
		n.addCriterion(result.Filled, quotes)
		return
	}
	e, before := &result.Check.Expect, len(n.texts)
	for _, s := range []*model.SaidExpectation{e.Says, e.NeverSays} {
		if s != nil {
			n.addOptional(s.Text, e.NeverSays != nil)
			n.addExpression(s.Matches, e.NeverSays != nil)
		}
	}
	if e.Called != nil {
		n.addOptional(e.Called.TechnicalName, false)
	}
	if e.NeverCalled != nil {
		n.addOptional(e.NeverCalled.TechnicalName, true)
	}
	if e.Extracts != nil {
		n.addOptional(e.Extracts.Equals, false)
		n.addExpression(e.Extracts.Matches, false)
	}
	if e.ResultJSON != nil {
		n.addOptional(e.ResultJSON.TechnicalName, false)
	}
	n.addOptional(e.Tag, false)
	if len(n.texts) == before {
		n.addWords(result.Expected(), quotes)
	}
}

// addCriterion adds the texts and calls that a criterion names or, if it names none, its words.
func (n *needs) addCriterion(criterion string, quotes []model.Evidence) {
	isUnwanted, before := prohibition().MatchString(criterion), len(n.texts)
	for _, parts := range quotedText().FindAllStringSubmatch(criterion, -1) {
		n.addText(parts[1], isUnwanted)
	}
	for _, parts := range namedCall().FindAllStringSubmatch(criterion, -1) {
		n.addText(cmp.Or(parts[1], parts[2]), isUnwanted)
	}
	if len(n.texts) == before {
		n.addWords(criterion, quotes)
	}
}

func (n *needs) addWords(text string, quotes []model.Evidence) {
	for _, quote := range quotes {
		text += " " + quote.Quote
	}
	n.words = append(n.words, slices.DeleteFunc(read.Content(read.Words(text)), read.IsEmpty)...)
}

func (n *needs) addOptional(text *string, isUnwanted bool) {
	if text != nil {
		n.addText(*text, isUnwanted)
	}
}

func (n *needs) addText(text string, isUnwanted bool) {
	if quote := read.NewQuote(text, false); quote.Text != "" {
		n.texts = append(n.texts, neededText{quote: quote, isUnwanted: isUnwanted})
	}
}

func (n *needs) addExpression(text *string, isUnwanted bool) {
	if text == nil {
		return
	}
	if expression, err := model.NewExpression(*text); err == nil {
		n.texts = append(n.texts, neededText{expression: expression, isUnwanted: isUnwanted})
	}
}

// needed records which of the needs a text has, and where.
type needed struct {
	// hasText and hasWord report which of the texts and words it has.
	hasText, hasWord []bool
	spans            []read.Span
}

// findIn finds the needs in a text.
func (n needs) findIn(ctx context.Context, text string) needed {
	found := needed{hasText: make([]bool, len(n.texts)), hasWord: make([]bool, len(n.words))}
	passage := read.NewPassage(text, false)
	for i, wanted := range n.texts {
		part := ""
		if wanted.expression != nil {
			part, _, _ = wanted.expression.Find(ctx, text)
		} else {
			part = passage.Find(wanted.quote)
		}
		if part != "" {
			at := strings.Index(text, part)
			found.hasText[i], found.spans = true, append(found.spans, read.Span{Start: at, End: at + len(part)})
		}
	}
	if len(n.words) == 0 {
		return found
	}
	found.spans = append(found.spans, read.FindWords(text, n.words)...)
	words := read.Words(text)
	for i, word := range n.words {
		found.hasWord[i] = read.ContainsForm(words, word)
	}
	return found
}

// suspicion weighs the texts and words that a change removed and added. An added text has the full weight if it is
// unwanted, and otherwise a quarter. A removed text has the full weight if it is wanted and the failing prompt has it
// nowhere else. Other removed texts have half the weight.
func (n needs) suspicion(before, after, whole needed) int {
	sum, ofWords := 0, 0
	for i, text := range n.texts {
		isLost, isGained := before.hasText[i] && !after.hasText[i], after.hasText[i] && !before.hasText[i]
		switch {
		case isLost && !text.isUnwanted && !whole.hasText[i], isGained && text.isUnwanted:
			sum += 2 * lostText
		case isLost:
			sum += lostText
		case isGained:
			sum += foreignText
		}
	}
	for i := range n.words {
		switch {
		case before.hasWord[i] && !after.hasWord[i] && !whole.hasWord[i]:
			ofWords += lostWord
		case before.hasWord[i] != after.hasWord[i]:
			ofWords += movedWord
		}
	}
	return sum + min(ofWords, maxOfWords)
}
