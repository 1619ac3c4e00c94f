package read

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"at 14:30":                  "14h30m0s",
		"2:30 pm":                   "14h30m0s",
		"9h20":                      "9h20m0s",
		"tomorrow at 10":            "10h0m0s",
		"at 8 in the morning":       "8h0m0s",
		"8 in the evening":          "20h0m0s",
		"half past two":             "14h30m0s",
		"a quarter to nine, please": "8h45m0s",
		"noon":                      "12h0m0s",
		"some day":                  "",
		"half past everything":      "",
	} {
		found, ok := Time(text)
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, found.String(), text)
		}
	}
}

func TestLastQuestionIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"Thank you. What is your name?":                   {"What is your name?", ""},
		"“It waits for five days.” Which one?":            {"Which one?", ""},
		"“Let it cool.” [2] Anything else?":               {"Anything else?", ""},
		"« C’est gratuit. » Que choisissez-vous ?":        {"Que choisissez-vous ?", ""},
		"1) Monday\n2) Friday\nWhich one would you like?": {"Which one would you like?", ""},
		"Is it about your kettle? Tell me what it does.":  {"Is it about your kettle?", "Tell me what it does."},
		"That is done.": {"", ""},
		"承知しました。お名前は何ですか？":                                  {"お名前は何ですか？", ""},
		"شكرا لك. ما اسمك؟ أحتاجه للحجز.":                   {"ما اسمك؟", "أحتاجه للحجز."},
		"Is that so? And will it be red, at 9.30, for you?": {"And will it be red, at 9.30, for you?", ""},
	} {
		question, rest := LastQuestion(text)
		require.Equal(t, want, [2]string{question, rest}, text)
	}
}

func TestSentencesOfChatsAreSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"hi. when do you open? at 9.30?": {"hi.", "when do you open?", "at 9.30?"},
		"はい。何時ですか？九時です":                  {"はい。", "何時ですか？", "九時です"},
		"نعم. متى؟ غدا":                  {"نعم.", "متى؟", "غدا"},
		"One\nTwo":                       {"One", "Two"},
	} {
		require.Equal(t, want, Sentences(text), text)
	}
	require.Equal(t, "はい。", Ended("はい。"))
	require.Equal(t, "Yes.", Ended("Yes"))
}

func TestNumbersAreRead(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]float64{"12": 12, "12,50": 12.5, "€7": 7, "twelve": 12, "deux": 2, "14:30": -1,
		"mw417": -1, "": -1, "many": -1} {
		value, ok := Number(word)
		require.Equal(t, want >= 0, ok, word)
		if ok {
			require.InDelta(t, want, value, 0, word)
		}
	}
}

func TestPhoneNumbersHaveEightDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+1234 567": "", "1234 567": "", "+1234 5678": "+12345678", "Call 030 123 45-6, now": "030123456",
		"From +1234 567 to +44 20 7946 0000": "+442079460000",
	} {
		number, isFound := Phone(text)
		require.Equal(t, want, number, text)
		require.Equal(t, want != "", isFound, text)
	}
}

func TestOrdinalsChooseAPosition(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, OrdinalIndex(Words("the second, please"), 3))
	require.Equal(t, 0, OrdinalIndex(Words("le premier"), 3))
	require.Equal(t, -1, OrdinalIndex(Words("the third"), 2), "there are only two")
	require.Equal(t, -1, OrdinalIndex(Words("the blue one"), 3))
}

func TestBirthDatesAreDetected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"I was born on 3 June": true, "my birthday is 3 June": true, "née le 3 juin": true,
		"a birthday cake for 3 June": false, "on 3 June": false,
	} {
		require.Equal(t, want, TellsBirth(Words(text)), text)
	}
}

func TestRefusalsAreRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"never mind": true, "forget it": true, "laissez tomber": true, "no, I'd rather not": true, "I don't want it": true,
		"I do not want a new card but a refund": false, "yes please": false,
	} {
		require.Equal(t, want, Declines(text), text)
	}
}

func TestListMarksAreRemoved(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"- tea": "tea", "4. Waiting": "Waiting", "4.": "", "# Tea": "Tea"} {
		text, ok := CutListMark(line)
		require.True(t, ok, line)
		require.Equal(t, want, text, line)
	}
	text, ok := CutListMark("4.20 for tea")
	require.False(t, ok)
	require.Equal(t, "4.20 for tea", text)
}

func TestDayOfAMonthIsItsNextDate(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, time.January, 30, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"a cake for the 14th": "2026-02-14", "on the 31st": "2026-01-31", "avant le 5 si possible": "2026-02-05",
		"à partir du 30": "2026-01-30", "on the 29th": "2026-03-29",
	} {
		day, ok := Date(text, today)
		require.True(t, ok, text)
		require.Equal(t, want, day.Format(time.DateOnly), text)
	}
	for _, text := range []string{"the 2nd one", "for the 2nd time", "on the 3rd floor", "pour le 14 rue Pasteur",
		"on the 40th", "un rendez-vous pour mon mari"} {
		_, ok := Date(text, today)
		require.False(t, ok, text)
	}
	monday, ok := Date("mon or tue", today)
	require.True(t, ok)
	require.Equal(t, "2026-02-02", monday.Format(time.DateOnly))
}

func TestWeekdayIsItsNextDate(t *testing.T) {
	t.Parallel()
	tuesday := time.Date(2027, time.March, 2, 0, 0, 0, 0, time.UTC)
	day, ok := Date("Tuesday", tuesday)
	require.True(t, ok)
	require.Equal(t, tuesday.AddDate(0, 0, 7), day)
	_, ok = Date("Tuesday", time.Time{})
	require.False(t, ok, "without a today")
}

func TestNamesAloneHaveNoLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"O'Neill-García": false, "José": false, "Hélène D'Angelo": false, "Ana de la Cruz": false, "de la Cruz, Ana": false,
		"Je suis José": true, "My name is José": true, "Rendez-vous": true, "J'ai": true, "médecin": true, "Bonjour José": true,
		"le médecin": true,
	} {
		_, isKnown := Detect(text)
		require.Equal(t, want, isKnown, text)
	}
}
