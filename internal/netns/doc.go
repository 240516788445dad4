// Package netns creates named network namespaces in the layout of ip-netns(8). It records the namespaces of each
// lab, so that a later process can remove what a dead lab left and no other namespace. Linux only.
package netns
