package evaluation

import "github.com/agentgraph/agentgraph/engine/lazyregexp"

// No real contact would write these phrases, which are in many languages. They match folded texts from which quotes
// were removed.
var (
	// offer matches phrases of somebody who offers help.
	offer = anyOf(
		`how (?:can|may|could) i (?:help|assist|be of (?:help|service|assistance))(?: to)? ?(?:you)?(?: today| with .*)?\s*[?.!,]?$`,
		`how (?:can|may) i (?:help|assist) you\b(?: today)?[?.!,]`, `how may i be of`,
		`anything else (?:that )?i can (?:help|assist|do for) you`,
		`what can i do for you(?: today)?[?.!,]`,
		`i(?:'m| am) here to (?:help|assist)(?: you)?(?: today)?(?:[.!,]|$)`,
		`(?:happy|glad) to (?:assist|help) you(?: with (?:that|this|it))?[.!,]`,
		`(?:can|may) i (?:help|assist) you with anything`,
		`let me know if (?:you have any (?:other |further |more )?questions|there(?:'s| is) anything else i can)`,
		`thank you for (?:contacting|reaching out to) (?:us|our)\b`,
		`(?:comment|en quoi) (?:puis-je|je peux) (?:vous|t')\s?(?:aider|être utile)`, `que puis-je faire pour (?:vous|toi)`,
		`puis-je vous aider`, `autre chose que je puisse faire`, `je suis là pour vous aider`,
		`(?:wie|womit|wobei) (?:kann|darf) ich (?:ihnen|dir|euch)\b.*(?:helfen|dienen|sein)`,
		`was kann ich für (?:sie|dich|euch) tun`,
		`kann ich (?:ihnen|dir) sonst noch`,
		`(?:cómo|en qué) (?:puedo|podría) (?:ayudar|asistir|servir)(?:le|te|lo|la)`,
		`(?:algo más|otra cosa) en (?:lo|la) que pueda ayudar`,
		`(?:come|in (?:che )?cosa|in che modo) posso (?:aiutar|esser)(?:la|ti|le|vi)`,
		`posso aiutar(?:la|ti) (?:con|in) (?:altro|qualcos)`,
		`(?:como|em que) posso (?:te |lhe |o |a )?(?:ajudar|ajudá|ser útil)`,
		`posso (?:te |lhe )?ajudar (?:você )?(?:em|com) (?:mais|algo)`,
		`i (?:can|could) see (?:that )?your`, `i understand your (?:frustration|concern)`,
		`capisco la sua (?:frustrazione|preoccupazione)`,
		`(?:sinto muito|desculpe|peço desculpas) pel[oa] (?:transtorno|inconveniente|incômodo)`,
		`(?:waarmee|hoe|waar) kan ik (?:u|je|jou)\b.*(?:helpen|dienst|doen)`, `(?:vad|hur) kan jag (?:hjälpa|stå till tjänst)`,
		`(?:hvad|hva|hvordan) kan jeg (?:hjelpe|hjælpe|bistå)`, `w czym (?:mogę|możemy)`, `jak mogę (?:panu|pani|ci) pomóc`,
		`(?:jak|s čím) (?:vám|ti) (?:mohu|můžu) pomoci`, `чем (?:я )?(?:могу|можем) (?:вам )?(?:помочь|быть полез)`,
		`чим (?:я )?(?:можу|можемо) (?:вам )?(?:допомогти|бути корис)`, `size nasıl yardımcı olabilirim`, `nasıl yardımcı ol`,
		`miben segíthetek`, `cu ce (?:vă )?(?:pot|putem) (?:ajuta|fi de folos)`, `(?:miten|kuinka) voin (?:auttaa|olla avuksi)`,
		`(?:πώς|πως|σε τι) μπορώ να (?:σας )?(?:βοηθήσω|εξυπηρετήσω)`, `كيف (?:يمكنني|أستطيع) مساعدت`, `(?:सहायता|मदद) कर सकत[ाी] ह`,
		`什么可以帮`, `(?:什么|怎么|如何)(?:能|可以)?(?:为您|帮您|帮到您|帮助您)`, `为您服务`, `竭诚为您`, `무엇을 도와`, `어떻게 도와드릴`,
		`(?:どのような|どういった)ご用件`, `ご用件(?:を|は)`, `お手伝いできることはございま`, `お電話ありがとうございます`,
		`tôi có thể giúp gì`, `ada yang bisa (?:saya|kami) bantu`,
		`(?:thank you|thanks) for (?:calling|contacting|reaching out|getting in touch)`,
		`votre (?:conseillère|conseiller)\b`,
		`je vais m'occuper de votre`,
		`sie sprechen mit dem`, `gracias por (?:llamar(?:nos)?|contactar(?:nos)?|comunicarse)`,
		`(?:la )?ringrazio per (?:averci|aver) (?:contattat|chiamat)`,
		`u spreekt met .* van\b`, `välkommen till`,
		`дякуємо за звернення`,
		`ho[şs] geldiniz`, `आपका स्वागत है`, `أهلا.* بك في`, `欢迎致电`,
		`anything (?:else|further|more) (?:that )?i can (?:help|assist|do for) (?:you|with)`,
		`what can i (?:help|assist) you with`, `would you like me to (?:help|assist) (?:you )?with anything`,
		`was kann ich (?:\pL+ ){0,2}für (?:sie|dich|euch) tun`,
		`kann ich (?:sonst |noch |heute |weiter )*(?:etwas|was) (?:anderes |weiteres )?für (?:sie|dich|euch) tun`,
		`(?:womit|wobei|mit dem|bei dem) ich (?:ihnen|dir|euch) .{0,30}(?:helfen|behilflich|dienen)`,
		`(?:brauchen|benötigen) sie (?:sonst |noch |weitere )+hilfe`,
		`puis-je (?:\pL+ ){0,2}faire (?:autre chose|quelque chose|quoi que ce soit)(?: d'autre)? pour (?:vous|toi)`,
		`puis-je (?:\pL+ ){0,2}vous (?:aider|être utile)`, `avez-vous (?:encore )?besoin d'(?:une autre )?aide`,
		`puedo ayudar(?:le|te|lo|la) (?:\pL+ )?(?:algo|alguna cosa) más`,
		`puedo hacer (?:algo |alguna cosa )?(?:más |otra cosa )?por (?:usted|ti|vosotros)`,
		`(?:algo más|otra cosa|algo) (?:en (?:lo |la )?)?que (?:yo )?(?:le |te |lo |la )?`+
			`(?:pueda|puedo) (?:ayudar|servir|hacer por (?:usted|ustedes|ti)\b)`,
		`altro (?:che|in cui|per cui|con cui) (?:io )?(?:posso|possa) `+
			`(?:fare per (?:lei|te|voi)|esser(?:le|ti|vi)|aiutar(?:la|ti|vi))`,
		`posso fare (?:qualcos'|qualcosa d')?altro per (?:lei|te|voi)`,
		`kan ik (?:(?:verder|nog|vandaag|anders|iets|wat) )+voor (?:u|je|jou|jullie) (?:doen|betekenen)`,
		`waarmee ik (?:u|je|jou|jullie) .{0,20}(?:helpen|van dienst)`,
		`czy mogę (?:\pL+ ){0,3}(?:w czymś (?:\pL+ ){0,2}pomóc|dla (?:pana|pani|państwa|ciebie) (?:\pL+ )?zrobić)`,
		`czy (?:mogę|mógłbym|mogłabym) (?:\pL+ ){0,3}zrobić (?:\pL+ ){0,2}dla (?:pana|pani|państwa|ciebie)`,
		`czy potrzebuje (?:pan|pani) (?:\pL+ ){0,3}pomocy`, `jak mogę (?:\pL+ )?(?:panu|pani|państwu|ci) (?:\pL+ )?pomóc`,
		`(?:como|em que) (?:te |lhe |o |a )?posso (?:te |lhe |o |a )?(?:ajudar|ajudá|ser útil)`,
		`(?:posso|podemos) (?:te |lhe |o |a )?ajudar(?:-\pL+)? (?:você |o senhor |a senhora )?`+
			`(?:em|com) (?:mais|algo|outra)`,
		`(?:alguma|outra) coisa (?:mais )?(?:em )?que (?:eu )?(?:lhe )?`+
			`(?:possa|posso) (?:fazer por (?:si|você|ti|o senhor|a senhora)\b|ajud|ser útil)`,
		`posso fazer (?:mais )?(?:alguma coisa|algo|outra coisa)(?: mais)? por (?:si|você|ti|o senhor|a senhora)`,
		`gerne? helfe ich (?:ihnen|dir|euch)`, `helfe (?:ich )?(?:ihnen|dir|euch) (?:sehr )?gern`,
		`(?:bien sûr|oui|certainement|avec plaisir|d'accord)[,.!]? je peux vous aider`,
		`je vous aide (?:avec plaisir|volontiers)`, `(?:con (?:mucho )?gusto|encantad[oa],?) (?:le|te|lo|la) ayud`,
		`(?:la|ti|vi) aiuto (?:molto )?volentieri`, `volentieri (?:la|ti|vi) aiut`,
		`(?:ik help|help ik) (?:u|je|jullie) (?:heel )?graag`,
		`kan ik (?:u|je|jou|jullie) (?:\pL+ ){0,4}helpen\s*\?`, `posso ajud(?:á-l[oa]|ar você) com isso`,
		`chętnie (?:panu |pani |państwu |ci )?pomog[ęe]`,
		`i'd be (?:happy|glad) to (?:send|help|assist|arrange|book|check)`, `(?:puedo|podemos) ofrecerle`,
	)

	// confession matches phrases in which a model says that it is a model. It excludes jobs, such as "an AI engineer".
	confession = anyOf(
		`(?:as|i am|i'm|i'm just|i am just|i'm only|i am only|being) an? (?:`+machine+`)`+endOfName,
		`(?:as|i am|i'm) a simulated`,
		`(?:en tant que |en tant qu'|je suis |comme )(?:une? )?(?:`+machine+`)`+endOfName,
		`(?:als|ich bin)(?: nur)? (?:eine? )?(?:`+machine+`)`+endOfName,
		`(?:como|soy|sou|come|sono)(?: solo| só)? (?:(?:una?|uma?|um) |un')?(?:`+machine+`)`+endOfName,
		`here(?:'s| is) (?:my|the) (?:response|reply|next message|message) (?:as|from) `,
		`as the (?:customer|caller|contact|user)[,:]`,
		`(?:objetivo|objectif|obiettivo|objective|ziel|goal|doel|cel|цель|mål|amac)\pL* .{0,60}(?:erreicht|cumplid|alcanzad|lograd|atteint|raggiunt|`+
			`achieved|reached|met\b|bereikt|osiągni|достигнут|gerçekleş|ulaşıl)`, `目的.{0,20}達成`,
		`(?:test|prüf)\pL* (?:criteria|criterios|kriteerit|kriterien|kriterier|critères|criteri)`, `(?:测试|模拟|对话)(?:结束|完成)`,
		`(?:summary|resumo|resumen|résumé|riassunto|zusammenfassung|samenvatting|podsumowanie|резюме) (?:of the|da|de la|della|des|van het|rozmowy|диалога)? ?(?:conversa|conversation|gespräch|gesprek|chat|dialog)`,
		`(?:rating|score|note|bewertung|puntuación|voto|nota|cijfer|ocena|оценка|评分)\s?:\s?\d+\s?/\s?\d`,
		`(?:possible|sample|example|suggested) (?:response|reply|answer|message)`, `(?:here is|here's|voici|aquí tienes|ecco|hier ist|aqui está|hier is|oto|вот) (?:\pL+ ){0,2}(?:response|reply|réponse|respuesta|risposta|antwort|resposta|antwoord|odpowiedź|ответ)`,
		`вариант ответа`, `от лица`, `as a language model`, `(?:essendo|comme|en tant que?) (?:un )?(?:modello|modèle)`,
		`(?:jag är|jeg er|som) (?:en )?(?:ai|språkmodell?|sprogmodel|kunstig intelligen|chatbot)`, `(?:ik ben|als) (?:een )?(?:ai|taalmodel|kunstmatige intelligentie|chatbot)(?:[,.;:!?]|$| (?:heb|kan|ben|en)\b)`,
		`(?:jestem|jako) (?:model(?:em)? językow|sztuczn|ai\b|chatbot)`, `(?:jsem|jako) (?:jazykový model|umělá inteligence|ai\b)`,
		`(?:я|как|будучи) (?:просто )?(?:языков|искусственн|ии\b|чат-бот)`, `як (?:мовна модель|штучний інтелект)`, `я (?:мовна модель|штучний інтелект)`,
		`(?:bir )?(?:yapay zeka|dil modeli)(?: modeli)? (?:olarak|olduğum)`, `mesterséges intelligenciaként`, `nyelvi modellként`,
		`(?:ca|sunt) (?:un )?(?:model (?:lingvistic|de limbaj)|ai\b|inteligență artificială)`, `(?:olen|tekoälynä|kielimallina) ?(?:tekoäly|kielimalli)?(?:\b| )(?:minulla|en voi|kielimalli|tekoäly)`,
		`بصفتي نموذج`, `(?:أنا|كوني) (?:نموذج|ذكاء اصطناعي|مساعد ذكي)`, `(?:私は|わたしは|僕は)?(?:ai(?:アシスタント|モデル)?|言語モデル|人工知能)(?:です(?:ので|から)|なので|として)`, `(?:作为|我是)(?:一个|一名)?(?:ai|人工智能|语言模型)`,
		`(?:저는|나는) ?(?:ai|인공지능|언어 ?모델)`, `(?:ai|인공지능|언어 ?모델)(?:로서|이기 때문|이라)`, `(?:एआई|भाषा मॉडल) (?:के रूप में|हूँ)`,
	)
)

// gestures are the beginnings of what an actor does, in the third person. They count only in brackets or asterisks.
const gestures = `(?:\pL+ly )?(?:glanc(?:es|ing)|looks? (?:\pL+ly )?(?:at|around|down|up|away)\b|hesitates|` +
	`taps\b|tapping|` +
	`rolls? (?:his|her|their) eyes|checks? (?:his|her|their|the) (?:watch|phone|clock|calendar|notes))|(?:schaut|` +
	`blickt|guckt) [^*)\]]*(?:auf|um|zur|weg)\b|sieht (?:auf die|zur|sich um)|(?:räuspert|kratzt) sich|verdreht die|` +
	`runzelt|zögert|trommelt|blättert|atmet|zuckt mit|grinst|stöhnt|gähnt|klopft (?:auf|mit|nervös|ungeduldig)|` +
	`überlegt|regarde (?:sa |ses |son |l'heure|la montre|l'horloge|autour)|lève les yeux|hésite|fronce|tapote|` +
	`se racle|consulte (?:sa|son)|hausse les|bâille|mira (?:el reloj|la hora|su |hacia|alrededor|\pL+mente)|` +
	`frunce|carraspea|pone los ojos|se encoge|tamborilea|bosteza|titubea|guarda (?:l'or|il suo|la sua|\pL+mente|` +
	`verso|in giro)|esita|alza gli|si schiarisce|sbuffa|tamburella|aggrotta|sbadiglia|kijkt\b|aarzelt|schraapt|` +
	`haalt (?:zijn|haar)|rolt met|fronst|tikt (?:op|met|nerveus|ongeduldig)|glimlacht|grijnst|gaapt|wzdycha|` +
	`patrzy|spogląda|zerka|uśmiecha|śmieje|wzrusza|waha|chrząka|przewraca oczami|kręci głową|marszczy|stuka palc|` +
	`kiwa|ziewa|olha (?:para|o relógio|a hora|em volta|\pL+mente)|hesita|pigarreia|revira|franze|encolhe|boceja|` +
	`tamborila|acena|вздыхает|смотрит|улыбается|смеётся|смеется|пожимает|кивает|хмурится|колеблется|tittar|` +
	`suckar|ler\b|skrattar|ser på|sukker|nikker|smiler`

// theater matches words for a scenario, a simulation and a play. Contacts do not use these words unless the test's
// scenario or the assistant does.
var theater = lazyregexp.New(`(?:^|[^\pL])(?:scenari|szenari|scénari|cenári|escenari|scenár|senaryo|сценари|сценарі|` +
	`simulat|simulaz|simulac|simulaç|symulac|simulering|simulier|simülasyon|симуляц|` +
	`(?:in|out of|break) character[^\pL]|role-?\s?play|roll(?:en|e)?sp(?:ie|i|e)l|rolspel|jeu de rôle|juego de rol|gioco di ruolo|ролев|` +
	`(?:mi|mon|my|mein|mio|meu|minha|mijn) (?:personaje|personnage|personaggio|personagem|character|charakter|personage))|` +
	`シナリオ|シミュレーション|ロールプレイ|시나리오|시뮬레이션|역할극|角色扮演|سيناريو|محاكاة`)

const (
	machine = `ai|a\.i\.|artificial intelligence|(?:ai |large |ai-)?(?:language )?model|language model|llm|(?:ai|virtual|digital) (?:language model|assistant|agent|model|system)|chatbot|` +
		`ia|intelligence artificielle|modèle de langage|assistante? virtuel(?:le)?|ki|ki-(?:sprach)?modell|ki-assistent(?:in)?|künstliche intelligenz|sprachmodell|virtuelle[rn]? assistent(?:in)?|` +
		`inteligencia artificial|modelo de lenguaje|asistente virtual|intelligenza artificiale|modello linguistico|assistente virtuale?|inteligência artificial|modelo de linguagem`
	endOfName = `(?:\s*[,.;:!?(]|$| (?:and )?(?:i|don't|do not|can't|cannot)\b| (?:et )?je\b| (?:und )?ich\b| kann\b| habe\b| no\b| non\b| não\b| without\b| developed\b| trained\b| created\b)`
)
