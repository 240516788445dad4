//go:build slow

package p4abc_test

// thorough has tests of experiments run all that they have, and not a part that says the same.
const thorough = true
