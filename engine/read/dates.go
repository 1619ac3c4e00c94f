package read

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

var (
	isoDate = lazyregexp.New(`\b(\d{4})-(\d{1,2})-(\d{1,2})\b`)
	// slashedDate has the day before the month.
	slashedDate = lazyregexp.New(`\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b`)
	dayMonth    = lazyregexp.New(`\b(\d{1,2})(?:st|nd|rd|th|er)?(?: of| de)? (` + monthNames +
		`)[a-z]*\.?,?(?: (\d{4}))?\b`)
	monthDay = lazyregexp.New(`\b(` + monthNames + `)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?\b`)
	// dayOfMonth matches "on the 12th" and "avant le 12", but not "for the 2nd time".
	dayOfMonth = lazyregexp.New(`\b(?:(?:on|by|from|for|before|after|until) the (\d{1,2})(?:st|nd|rd|th)` +
		`|(?:pour|avant|apres|des) le (\d{1,2})|a partir du (\d{1,2}))` +
		`(?: (?:at|around|in|if|please|pls|and|or|but|a|vers|si|svp|et|ou|mais|s'il)\b|$)`)
	clockTime   = lazyregexp.New(`\b([01]?\d|2[0-3])(?: ?[h:] ?([0-5]\d)| ?(h|heures?|o'?clock)\b)`)
	atHour      = lazyregexp.New(`\b(?:at|around|about|vers) ([01]?\d|2[0-3])$`)
	halfDayTime = lazyregexp.New(`\b(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))? ?([ap])\.?m\b`)
	// partOfDayTime and pastTime match "8 in the morning" and "half past two".
	partOfDayTime = lazyregexp.New(`\b(1[0-2]|0?[1-9]) (?:in the|du|de l') ?(morning|matin|afternoon|apres|evening|soir)`)
	pastTime      = lazyregexp.New(`\b(half past|quarter past|quarter to) (\w+)`)
	// present matches the date of the conversation in an agent's instructions.
	present = lazyregexp.New(
		`(?i)\b(today is|today:|current date:?|date:|nous sommes le|aujourd'hui est le|date du jour :?)\s+[^.\n]{0,30}`)
)

// firstHour is the hour before which "half past two" means the afternoon.
const firstHour = 7

var pastMinutes = map[string]time.Duration{"half past": 30 * time.Minute, "quarter past": 15 * time.Minute,
	"quarter to": -15 * time.Minute}

const monthNames = `jan|feb|fev|mar|apr|avr|may|mai|june|juin|july|juil|aug|aou|sep|oct|nov|dec`

var months = map[string]time.Month{
	"jan": 1, "feb": 2, "fev": 2, "mar": 3, "apr": 4, "avr": 4, "may": 5, "mai": 5, "june": 6, "juin": 6,
	"july": 7, "juil": 7, "aug": 8, "aou": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}

// weekdays and relativeDays are relative to the day of the conversation.
var (
	weekdays = map[string]time.Weekday{
		"monday": 1, "lundi": 1, "tuesday": 2, "mardi": 2, "wednesday": 3, "mercredi": 3, "thursday": 4, "jeudi": 4,
		"mon": 1, "tue": 2, "tues": 2, "wed": 3, "weds": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5, "sat": 6, "sun": 0,
		"friday": 5, "vendredi": 5, "saturday": 6, "samedi": 6, "sunday": 0, "dimanche": 0,
	}
	relativeDays = []struct {
		words string
		days  int
	}{
		{"day after tomorrow", 2}, {"apres-demain", 2}, {"apres demain", 2}, {"tomorrow", 1}, {"demain", 1}, {"today", 0},
		{"tonight", 0},
		{"aujourd'hui", 0}, {"ce soir", 0}, {"as early as possible", 0}, {"as soon as possible", 0}, {"asap", 0},
		{"right now", 0},
		{"des que possible", 0}, {"au plus vite", 0}, {"au plus tot", 0}, {"plus tot possible", 0}, {"plus vite possible", 0},
		{"next week", 7}, {"la semaine prochaine", 7},
	}
)

// Plain returns a text in lower case without accents, with straight apostrophes, single spaces and little punctuation.
func Plain(text string) string {
	var plain strings.Builder
	isSpaced := true
	for _, r := range strings.ReplaceAll(Fold(text), "’", "'") {
		switch {
		case strings.ContainsRune(":/.'-", r) || unicode.IsLetter(r) || unicode.IsNumber(r):
			plain.WriteRune(r)
			isSpaced = false
		case !isSpaced:
			plain.WriteByte(' ')
			isSpaced = true
		}
	}
	return strings.TrimSuffix(plain.String(), " ")
}

// Today returns the day of the conversation according to the instructions, or the zero time.
func Today(instructions string) time.Time {
	// Usually the first match has the day, and the rest need not be read.
	if day, ok := Date(present().FindString(instructions), time.Time{}); ok {
		return day
	}
	for _, match := range present().FindAllString(instructions, -1) {
		if day, ok := Date(match, time.Time{}); ok {
			return day
		}
	}
	return time.Time{}
}

// Date returns a date in a text. Dates with a month precede "tomorrow", which precedes weekdays, which precede days of
// a month. Dates without a year, weekdays, days of a month and "tomorrow" need today, and mean the next such day.
func Date(text string, today time.Time) (time.Time, bool) {
	text = Plain(text)
	if m := isoDate().FindStringSubmatch(text); m != nil {
		return dayOf(m[1], m[2], m[3])
	}
	if m := slashedDate().FindStringSubmatch(text); m != nil {
		return dayOf(m[3], m[2], m[1])
	}
	if m := dayMonth().FindStringSubmatch(text); m != nil {
		return monthDayOf(m[2], m[1], m[3], today)
	}
	if m := monthDay().FindStringSubmatch(text); m != nil {
		return monthDayOf(m[1], m[2], m[3], today)
	}
	if today.IsZero() {
		return today, false
	}
	for _, relative := range relativeDays {
		if strings.Contains(" "+text+" ", " "+relative.words+" ") {
			return today.AddDate(0, 0, relative.days), true
		}
	}
	language, _ := Detect(text)
	for _, word := range strings.Fields(text) {
		if word == "mon" && language == French {
			continue // "mon mari"
		}
		if weekday, ok := weekdays[strings.Trim(word, ".'")]; ok {
			days := (int(weekday)-int(today.Weekday())+6)%7 + 1
			return today.AddDate(0, 0, days), true
		}
	}
	if m := dayOfMonth().FindStringSubmatch(text); m != nil {
		return nextDay(m[1]+m[2]+m[3], today)
	}
	return today, false
}

// nextDay returns the next date with a day of the month, from today on.
func nextDay(day string, today time.Time) (time.Time, bool) {
	first := today.AddDate(0, 0, 1-today.Day())
	for range 3 { // February may lack the day
		date, ok := exactDay(strconv.Itoa(first.Year()), first.Month(), day)
		if ok && !date.Before(today) {
			return date, true
		}
		first = first.AddDate(0, 1, 0)
	}
	return today, false
}

func dayOf(year, month, day string) (time.Time, bool) {
	number, _ := strconv.Atoi(month)
	return exactDay(year, time.Month(number), day)
}

func monthDayOf(month, day, year string, today time.Time) (time.Time, bool) {
	if year != "" {
		return exactDay(year, months[month], day)
	}
	if today.IsZero() {
		return today, false
	}
	date, ok := exactDay(strconv.Itoa(today.Year()), months[month], day)
	if ok && date.Before(today) {
		return exactDay(strconv.Itoa(today.Year()+1), months[month], day)
	}
	return date, ok
}

// exactDay rejects dates that do not exist.
func exactDay(year string, month time.Month, day string) (time.Time, bool) {
	y, _ := strconv.Atoi(year)
	d, _ := strconv.Atoi(day)
	date := time.Date(y, month, d, 0, 0, 0, 0, time.UTC)
	return date, date.Day() == d && date.Month() == month
}

// Time returns a time of day in a text, as the time since midnight. It is 0 for words such as "now".
func Time(text string) (time.Duration, bool) {
	text = Plain(isoDate().ReplaceAllString(strings.ReplaceAll(text, "T", " "), " "))
	if m := halfDayTime().FindStringSubmatch(text); m != nil {
		hour, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		hour %= 12
		if m[3] == "p" {
			hour += 12
		}
		return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute, true
	}
	if m := partOfDayTime().FindStringSubmatch(text); m != nil {
		hour, _ := strconv.Atoi(m[1])
		hour %= 12
		if m[2] != "morning" && m[2] != "matin" {
			hour += 12
		}
		return time.Duration(hour) * time.Hour, true
	}
	if m := pastTime().FindStringSubmatch(text); m != nil {
		if hour, ok := Number(m[2]); ok && hour <= 12 {
			if hour < firstHour {
				hour += 12
			}
			return time.Duration(hour)*time.Hour + pastMinutes[m[1]], true
		}
	}
	if m := clockTime().FindStringSubmatch(text); m != nil {
		hour, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute, true
	}
	if m := atHour().FindStringSubmatch(text); m != nil {
		hour, _ := strconv.Atoi(m[1])
		return time.Duration(hour) * time.Hour, true
	}
	for _, word := range strings.Fields(text) {
		switch word {
		case "noon", "midday", "midi":
			return 12 * time.Hour, true
		case "asap", "possible", "now", "maintenant":
			return 0, true
		}
	}
	return 0, false
}

// TellsBirth reports whether the words of a sentence state a date of birth.
func TellsBirth(words []string) bool {
	for i, word := range words {
		if word == "birthday" && (i+1 == len(words) || words[i+1] != "is") {
			continue // the sentence may be about a party
		}
		if IsBirth([]string{word}) {
			return true
		}
	}
	return false
}

// IsBirth reports whether one of the words is about a birthday.
func IsBirth(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"birth", "birthday", "born", "dob", "naissance", "nee"}, word)
	})
}

// IsDate reports whether a text has a date in digits that starts with the year.
func IsDate(text string) bool { return isoDate().MatchString(text) }
