package offline

import (
	"math"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	// pairShare and gramShare are the weights of a pair of neighboring words, and of gramLength letters of a word, as a
	// share of a word's weight. Grams match other forms of words and misspellings.
	pairShare, gramShare, gramLength = 0.7, 0.35, 4
	// smoothing is added to the weight of each feature in each class.
	smoothing = 0.1
	// sharpness scales the differences between classes. The higher it is, the nearer are probabilities to 0 and 1.
	sharpness = 2
	// otherClasses is how many unknown classes a message may belong to, in addition to the known ones.
	otherClasses = 5
	// vocabulary is the number of features of a class that is not known. All are equally probable in it.
	vocabulary = 10_000
	// maxClassified bounds the distinct words of a message that are classified.
	maxClassified = 200
)

// classifier estimates which exchange a message belongs to. It is a complement to the comparison with single variants:
// a multinomial naive Bayes classifier, whose classes are the exchanges of a lexicon, over words, pairs of words, and
// parts of words. Features are weighted by their rarity, and the weights of a text have the length 1 (J. Rennie and
// others, "Tackling the Poor Assumptions of Naive Bayes Text Classifiers", 2003).
type classifier struct {
	classes []*exchange
	// base has, for each class, what any feature of a message adds to the log odds of the class. A feature that the class
	// has adds its gain as well.
	base     []float64
	features map[string]*feature
	texts    float64
}

// feature is a word, a pair or a gram. texts is the number of texts that have it. gains has the classes that have it.
type feature struct {
	texts float64
	gains []gain
}

// gain is what a feature adds to the log odds of a class that has it. While the classifier learns, log is the weight of
// the feature in the class.
type gain struct {
	class int
	log   float64
}

// newClassifier learns from the variants, answers and questions of exchanges.
func newClassifier(exchanges []*exchange) *classifier {
	c := &classifier{classes: exchanges, features: map[string]*feature{}}
	var texts []map[string]float64
	var classes []int
	for class, e := range exchanges {
		e.class = class
		for _, text := range e.texts() {
			texts, classes = append(texts, featuresOf(wordsOf(text))), append(classes, class)
		}
	}
	c.texts = float64(len(texts))
	for _, text := range texts {
		for name := range text {
			if c.features[name] == nil {
				c.features[name] = &feature{}
			}
			c.features[name].texts++
		}
	}
	sums := make([]float64, len(c.classes))
	for i, text := range texts {
		weights, _ := c.weigh(text)
		for _, f := range weights {
			sums[classes[i]] += f.weight
			f.add(classes[i], f.weight)
		}
	}
	c.base = make([]float64, len(sums))
	for class, sum := range sums {
		c.base[class] = -math.Log((sum/smoothing + float64(len(c.features))) / vocabulary)
	}
	for _, f := range c.features {
		for i := range f.gains {
			f.gains[i].log = math.Log(1 + f.gains[i].log/smoothing)
		}
	}
	return c
}

// texts returns what the classifier learns about an exchange.
func (e *exchange) texts() []string {
	texts := make([]string, 0, len(e.variants)+1)
	for _, v := range e.variants {
		texts = append(texts, v.text)
	}
	said := append([]string{}, e.answers[:min(len(e.answers), 1)]...)
	for _, name := range e.order {
		said = append(said, e.asks[name])
	}
	return append(texts, strings.Join(said, " "))
}

// add adds to the weight of a feature in a class. Texts of one class come one after another.
func (f *feature) add(class int, weight float64) {
	if last := len(f.gains) - 1; last >= 0 && f.gains[last].class == class {
		f.gains[last].log += weight
		return
	}
	f.gains = append(f.gains, gain{class, weight})
}

// featuresOf returns the features of a text with their weights.
func featuresOf(words []string) map[string]float64 {
	words = words[:min(len(words), maxClassified)]
	features := make(map[string]float64, 8*len(words))
	for i, word := range words {
		switch {
		case fillers[word]:
			features[word] += 0.1
		case read.IsSmall(word) && !revealing[word]:
			features[word] += 0.5
		default:
			features[word]++
		}
		if i > 0 {
			features[words[i-1]+" "+word] += pairShare
		}
		if marked := "^" + word + "$"; len(word) >= gramLength-1 && !read.IsSmall(word) {
			for at := range len(marked) - gramLength + 1 {
				features["-"+marked[at:at+gramLength]] += gramShare
			}
		}
	}
	return features
}

type weighted struct {
	*feature
	weight float64
}

// weigh returns the weights of a text's known features, whose length as a vector is 1, and the known share of the text.
func (c *classifier) weigh(text map[string]float64) (weights []weighted, known float64) {
	weights = make([]weighted, 0, len(text))
	var squares, all float64
	for name, weight := range text {
		f, texts := c.features[name], 0.5
		if f != nil {
			texts = f.texts
		}
		weight *= math.Log(1 + c.texts/texts)
		all += weight * weight
		if f != nil {
			weights = append(weights, weighted{f, weight})
			squares += weight * weight
		}
	}
	for i := range weights {
		weights[i].weight /= math.Sqrt(squares)
	}
	return weights, math.Sqrt(squares / max(all, 1e-9))
}

// odds returns, for each class, the probability of the message in the class, divided by its probability in an unknown
// class.
func (c *classifier) odds(words []string) []float64 {
	weights, known := c.weigh(featuresOf(words))
	odds := make([]float64, len(c.classes))
	var sum float64
	for _, f := range weights {
		sum += f.weight
		for _, g := range f.gains {
			odds[g.class] += f.weight * g.log
		}
	}
	for class := range odds {
		odds[class] += sum * c.base[class]
		odds[class] = math.Exp(sharpness * known * known * odds[class])
	}
	return odds
}
