// Package experiment turns a file into results: it decodes the spec strictly (an
// unknown key, a wrong unit or nonsense is an error with line and column),
// expands its sweep into runs, carries them out in parallel, keeps each as soon
// as it is finished, and judges the claims of the paper over the seeds.
package experiment
