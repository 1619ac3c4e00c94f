package offline

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// others answer messages in languages that the model does not speak. Each has common words of its language, folded, and
// letters that neither English nor French has.
var others = []struct {
	words             map[string]bool
	letters, sentence string
}{
	{read.Set(`el los las un una unos del al yo tu mi mis su sus nos me te se lo la le les que cual cuando
		donde como cuanto cuanta quien por para con sin en de y o pero muy mas no si ya es son esta estan
		estoy soy eres hay fue ha he han tengo tiene tienen quiero quisiera puedo puede pueden podria
		necesito hago hacer hablo hola buenos buenas dias tardes noches gracias favor perdone mejor ahora
		hoy manana aqui este esto esa ese eso todo nada tambien`), "¿¡ñáíóú",
		"Lo siento, aquí solo hablo inglés y francés. ¿Puede escribirme en uno de esos idiomas?"},
	{read.Set(`ich du er sie es wir ihr mich mir dich dir uns der die das den dem des ein eine einen einem
		einer mein meine meinen meiner meinem ihre ihren kein keine keinen nicht und oder aber auch noch
		schon nur sehr mehr ist sind bin war wird werden wurde habe hat haben kann konnen konnte mochte
		muss will gibt geht was wer wie wo wann warum welche welcher mit fur von zu zum zur auf aus bei
		nach an am im in um bis ohne uber hallo guten tag morgen abend danke bitte nein ja heute gern immer
		hier zeigt hause`), "äöüß",
		"Es tut mir leid, ich spreche hier nur Englisch und Französisch. Können Sie mir in einer dieser Sprachen schreiben?"},
	{read.Set(`il lo la gli le un una uno del della dei delle al alla nel nella dal dalla di da in con su
		per tra e o ma non si no che chi cosa come dove quando quanto quanta perche quale io tu mi ti ci vi
		mio mia miei tuo sono sei siete ho hai ha avete hanno posso puo potete vorrei voglio devo fare
		fatto questo questa quello ordine anche piu molto ancora subito ciao buongiorno buonasera grazie
		prego scusi oggi domani`), "ìò",
		"Mi dispiace, qui parlo solo inglese e francese. Può scrivermi in una di queste lingue?"},
	{read.Set(`o os as um uma do da dos das no na nos nas ao em de com sem por para e ou mas nao sim que
		qual quando onde como quanto quem eu voce meu minha meus seu sua me te se lhe estou esta sou e foi
		tem tenho temos quero queria posso pode podem preciso fazer ola obrigado obrigada bom boa dia tarde
		noite hoje amanha agora aqui isto isso este esta muito mais tambem ja`), "ãõáíóú",
		"Desculpe, aqui só falo inglês e francês. Pode escrever-me numa dessas línguas?"},
	{read.Set(`ik jij je u hij zij ze wij we mij mijn uw jullie de het een dit dat deze die niet geen en of
		maar ook nog al is zijn was ben heb hebt heeft hebben kan kunt kunnen wil wilt moet mag gaat wordt
		wat wie waar wanneer waarom hoe welke met voor van naar op in om uit bij te tot zonder hallo
		goedemorgen goedemiddag bedankt dank alstublieft graag vandaag morgen nu hier`), "",
		"Sorry, ik spreek hier alleen Engels en Frans. Kunt u mij in een van die talen schrijven?"},
}

// compoundName matches a name such as "O'Neill-García", whose parts could be words of several languages.
var compoundName = lazyregexp.New(`\p{Lu}\pL*(?:['’-]\p{Lu}\pL*)+`)

// foreign returns the answer to a message in a language that the model does not speak, or "". Such a message has at
// least two words of that language, or one word and some of its letters. It has fewer words of English and of French.
// Letters and words of one or two letters do not count in a name. A message is also foreign if most of its letters are
// not Latin.
func foreign(text string) string {
	text = compoundName().ReplaceAllString(text, " ")
	said, isName := read.Words(text), read.IsName(text)
	if isName {
		said = slices.DeleteFunc(said, func(word string) bool { return len(word) <= 2 })
	}
	count := func(isWord func(string) bool) (n int) {
		for _, word := range said {
			if isWord(word) {
				n++
			}
		}
		return n
	}
	best := max(1, count(read.IsEnglish), count(read.IsFrench))
	sentence := ""
	for _, o := range others {
		n := count(func(word string) bool { return o.words[word] })
		if !isName && strings.ContainsAny(strings.ToLower(text), o.letters) {
			n++
		}
		if n > best {
			best, sentence = n, o.sentence
		}
	}
	if sentence == "" && isOtherScript(text) {
		return "I am sorry, I speak only English and French here. Could you write to me in one of them?"
	}
	return sentence
}

// isOtherScript reports whether most letters of a text are not Latin.
func isOtherScript(text string) bool {
	latin, other := 0, 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.IsLetter(r):
			other++
		}
	}
	return other > latin
}
