package testkit

import "fmt"

// FormatAll returns the texts of values with a String method, such as warnings.
func FormatAll[T fmt.Stringer](all []T) []string {
	var texts []string
	for _, x := range all {
		texts = append(texts, x.String())
	}
	return texts
}
