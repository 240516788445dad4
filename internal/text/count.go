package text

import (
	"strconv"
	"strings"
)

// Count returns a number with its noun: "1 run", "3 runs", "2 switches".
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Plural(n, noun) }

// Plural returns the form of a noun in the singular for n things. It changes only the ending, so a phrase must end in
// its noun ("traced run").
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	for _, ending := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(noun, ending) {
			return noun + "es"
		}
	}
	stem, ok := strings.CutSuffix(noun, "y")
	if ok && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}
	return noun + "s"
}

// Verb returns the form of a verb for n things: one claim holds, three claims hold. The argument is the plural form;
// "are", "were" and "have" are irregular.
func Verb(n int, verb string) string {
	if n != 1 {
		return verb
	}
	switch verb {
	case "are":
		return "is"
	case "were":
		return "was"
	case "have":
		return "has"
	}
	return Plural(2, verb)
}
