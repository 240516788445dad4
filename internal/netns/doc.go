// Package netns makes named network namespaces, as ip-netns(8) has them, and keeps a
// record of those that belong to a lab, so that they can be removed after its death and
// nothing else ever is. Linux only.
package netns
