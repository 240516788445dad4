// Package document reads strict YAML: maps, lists and plain values, each with its place in
// the file, and nothing that hides where a value comes from. What is wrong is gathered, and
// comes back together: file, line, column, what is allowed, the word that was likely meant.
// It knows no kind of file; who reads one says its keys.
package document
