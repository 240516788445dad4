package command

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// bindFlags makes set parse its arguments into the fields of a struct, by the tags that package kong reads: name,
// short, default, placeholder and help. The argument target is a pointer to the struct. Fields are strings, booleans,
// durations, and pointers to strings and integers, which stay nil if the flag is not given. It sets the defaults at
// once. It returns a function that prints the help. It panics on another type or a wrong default.
func bindFlags(set *flag.FlagSet, target any) (help func(io.Writer)) {
	var lines []string
	to := reflect.ValueOf(target).Elem()
	for field, value := range to.Fields() {
		name := cmp.Or(field.Tag.Get("name"), FlagName(field.Name))
		parse := parserOf(value)
		if text, ok := field.Tag.Lookup("default"); ok {
			if err := parse(text); err != nil {
				panic(err)
			}
		}
		names, shown := []string{name}, "    --"+name
		if short := field.Tag.Get("short"); short != "" {
			names, shown = append(names, short), "-"+short+", --"+name
		}
		for _, name := range names {
			if value.Kind() == reflect.Bool {
				set.BoolFunc(name, "", parse)
			} else {
				set.Func(name, "", parse)
			}
		}
		if value.Kind() != reflect.Bool {
			shown += "=" + cmp.Or(field.Tag.Get("placeholder"), field.Tag.Get("default"))
		}
		lines = append(lines, "  "+shown+"\t"+field.Tag.Get("help"))
	}
	lines = append(lines, "  -h, --help\tShow this help.", "      --version\tPrint the version.")
	return func(w io.Writer) {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, strings.Join(lines, "\n"))
		table.Flush()
	}
}

// parserOf returns a function that parses a flag's text into a field. It panics if flags cannot have the field's type.
func parserOf(field reflect.Value) func(string) error {
	switch to := field.Addr().Interface().(type) {
	case *string:
		return func(s string) error { *to = s; return nil }
	case **string:
		return func(s string) error { *to = &s; return nil }
	case *bool:
		return func(s string) (err error) { *to, err = strconv.ParseBool(s); return err }
	case **int:
		return func(s string) error {
			n, err := strconv.Atoi(s)
			*to = &n
			return err
		}
	case *time.Duration:
		return func(s string) (err error) { *to, err = time.ParseDuration(s); return err }
	}
	panic(fmt.Sprintf("a flag cannot have the type %v", field.Type()))
}

// FlagName returns the flag of a field without a tag of its name: max-stage for MaxStage, base-rtt for BaseRTT.
func FlagName(field string) string {
	var b strings.Builder
	for i := range len(field) {
		c := rune(field[i])
		begins := unicode.IsUpper(c) && i > 0 && (unicode.IsLower(rune(field[i-1])) ||
			i+1 < len(field) && unicode.IsLower(rune(field[i+1])))
		if begins {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
