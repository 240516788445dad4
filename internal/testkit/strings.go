package testkit

import "fmt"

// Strings returns the texts of values with a String method, such as warnings.
func Strings[T fmt.Stringer](all []T) []string {
	var texts []string
	for _, x := range all {
		texts = append(texts, x.String())
	}
	return texts
}
