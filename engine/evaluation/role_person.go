package evaluation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

var (
	// titles precede or follow a name.
	titles = read.Set(`mr mrs ms miss mister madam sir monsieur madame mademoiselle m mme herr frau herrn señor señora sr
		sra don doña signor signora signore sig senhor senhora dona meneer mevrouw mijnheer heer pan pani pana panie
		pane paní bey hanım beyefendi hanımefendi herra rouva господин госпожа пан пані`)

	// greetings precede the name of the person who is spoken to.
	greetings = read.Set(`hi hello hey dear good morning afternoon evening welcome thanks thank you so much bonjour
		bonsoir salut cher chère merci guten morgen tag abend hallo liebe lieber danke hola buenos buenas días tardes
		noches gracias estimado estimada ciao salve buongiorno buonasera gentile grazie hoi dag beste geachte
		goedemiddag goedemorgen goedenavond bedankt oi olá bom boa dia tarde noite obrigado obrigada dzień dobry witam
		witaj cześć dziękuję merhaba selam iyi günler teşekkürler hej hallå hei tack takk tak dobrý den ahoj děkuji
		здравствуйте привет добрый день вечер спасибо вітаю привіт дякую bună ziua szia moi`)

	// besides are words after a name in an introduction: "Anna Weber here".
	besides = read.Set(`here speaking calling from hier aus spricht mein name ici à de l'appareil aquí al habla qui da di
		aqui do da dos das fala tutaj mówi z burada uit van spreekt met här från her fra tady with mit avec con
		com met med s again and und et y e en i ve is my ist est es è é jest`)

	// acting matches the beginnings of words such as play and portray. They give a contact away when they stand next to
	// the person's name.
	acting = lazyregexp.New(`^(?:play|portray|imperson|jou(?:er|e)|incarn|interprét|spiele|spielen|verkörper|interpret|` +
		`speel|spelen|odgryw|odegra|zagra|hraj|zahraj|сыгра|играт|зігра|rol(?:e|ü|ün|ünü|le|lle|o)?$|rôle|papel|ruolo|rola|rolę|роль)`)

	// extremes are words before an ordinary scenario ("worst case scenario"), and simulationPrepositions are words after
	// an ordinary simulation ("simulation of a loan").
	extremes = read.Set(`case worst best worst-case best-case pire meilleur peor mejor pior melhor schlimmstes bestes
		peggiore migliore ergste beste najgorszy najlepszy`)
	simulationPrepositions = read.Set("of for de du del di da do von für van voor z")

	// oneself matches what people who introduce themselves write: a question, a number or code, or the word I.
	oneself = lazyregexp.New(`\?|\d{3}|\bI\b`)

	// words matches words and numbers.
	words = lazyregexp.New(`[\pL\d][\pL\pM\d'’-]*`)
)

// namingError returns an error if the text could only come from someone else: it speaks to the person of the scenario
// by name, tells what the person does, or offers to play the person.
func namingError(text, scenario string) error {
	person := namesIn(scenario)
	found := words().FindAllStringIndex(text, -1)
	all := model.Map(found, func(at []int) string { return strings.ToLower(text[at[0]:at[1]]) })
	for i := range all {
		if !person[stem(all[i])] || i > 0 && person[all[i-1]] {
			continue
		}
		from, to := i, i+1
		for to < len(all) && (person[stem(all[to])] || titles[all[to]]) {
			to++
		}
		for from > 0 && titles[all[from-1]] {
			from--
		}
		isTitled := slices.ContainsFunc(all[from:to], func(word string) bool { return titles[word] })
		before, after := text[:found[from][0]], text[found[to-1][1]:]
		switch {
		case (isTitled || to-from == 1) && isSpokenTo(before, after, isTitled):
			return unusable("it speaks to you by name, as the assistant would")
		case strings.TrimSpace(before) == "" && isSpokenOf(text, after, all, to):
			return unusable("it tells what the person does, and only what the person says is wanted")
		case slices.ContainsFunc(all[max(0, from-3):min(len(all), to+1)], acting().MatchString):
			return unusable("it speaks of playing a part, and you are the person of the scenario")
		}
	}
	return nil
}

// namesIn returns the names of the person of a scenario in lower case, without titles and single letters.
func namesIn(scenario string) map[string]bool {
	names := map[string]bool{}
	_, name, _ := nameIn(scenario)
	for _, word := range strings.Fields(strings.ToLower(name)) {
		if word = stem(word); !titles[word] && utf8.RuneCountInString(word) > 1 {
			names[word] = true
		}
	}
	return names
}

// stem cuts off a suffix after an apostrophe, as in Selin'in, unless less than three bytes precede it.
func stem(word string) string {
	if at := strings.IndexAny(word, "'’"); at > 2 {
		return word[:at]
	}
	return word
}

// isSpokenTo reports whether a name addresses the listener. The name must follow a greeting, and a punctuation mark
// must follow the name. A name with a title can also follow a comma, or begin a sentence. A name at the end is a
// signature, unless it has a title.
func isSpokenTo(before, after string, isTitled bool) bool {
	pause, rest := utf8.DecodeRuneInString(after)
	if !strings.ContainsRune(",.!?，。！？", pause) || strings.TrimSpace(after[rest:]) == "" && !isTitled {
		return false
	}
	if at := strings.LastIndexAny(before, ".!?¡¿\n。！？"); at >= 0 {
		_, width := utf8.DecodeRuneInString(before[at:])
		before = before[at+width:]
	}
	greeting := words().FindAllString(strings.ToLower(before), -1)
	switch {
	case len(greeting) == 0:
		next, _ := utf8.DecodeRuneInString(strings.TrimSpace(after[rest:]))
		return isTitled && pause == ',' && unicode.IsLower(next)
	case isTitled && strings.HasSuffix(strings.TrimSpace(before), ","):
		return true
	}
	return !slices.ContainsFunc(greeting, func(word string) bool { return !greetings[word] })
}

// isSpokenOf reports whether a text that begins with a name tells what its bearer does, in at least five words. all has
// the words of the text. The name ends before all[to].
func isSpokenOf(text, after string, all []string, to int) bool {
	next, width := utf8.DecodeRuneInString(strings.TrimPrefix(after, " "))
	return strings.HasPrefix(after, " ") && width > 0 && unicode.IsLower(next) && len(all)-to >= 4 &&
		!besides[all[to]] && !oneself().MatchString(text) &&
		!slices.ContainsFunc(all, func(word string) bool {
			return firstPersons[word] || word != "i" && slices.Contains(ownWords, word)
		})
}

// speaksOfTheater reports whether a text mentions a scenario or a simulation that the scenario and the assistant do not
// mention. Ordinary phrases such as "worst case scenario" and "simulation of a loan" do not count.
func speaksOfTheater(said, scenario string, messages []model.TestMessage) bool {
	for _, found := range theater().FindAllStringIndex(said, -1) {
		word := strings.TrimLeftFunc(said[found[0]:found[1]], func(r rune) bool { return !unicode.IsLetter(r) })
		known := strings.ToLower(scenario)
		for _, m := range messages {
			if m.Role == model.MessageRoleAssistant {
				known += " " + strings.ToLower(m.Text)
			}
		}
		before, after := strings.Fields(said[:found[0]]), words().FindAllString(said[found[1]:], 2)
		isOrdinary := len(before) > 0 && extremes[before[len(before)-1]] || len(after) > 1 && simulationPrepositions[after[1]]
		if !isOrdinary && !strings.Contains(known, word) {
			return true
		}
	}
	return false
}
