// The text of HTML pages: what is shown of them, and that no page takes longer than its length asks for.
import { expect, test } from "vitest";
import { htmlText } from "../../src/text/html-text.ts";

test.each([
  ["", ""],
  ["plain", "plain"],
  ["  a \n\t b  ", "a b"],
  ["a<b>b</b>c <i> d</i> e", "abc d e"],
  ["<p>one</p><p>two</p>", "one\n\ntwo"],
  ["<div>one</div><div><div>two</div></div>three", "one\ntwo\nthree"],
  ["a<br>b<br/><br>c", "a\nb\n\nc"],
  ["<h1>Big</h1>text<hr>more", "Big\n\ntext\n\nmore"],
  ["a &amp; b &lt;c&gt; &eacute;&#x1F389; &nope; &amp;amp; x&", "a & b <c> é🎉 &nope; &amp; x&"],
  ["<head><title>T</title><style>p{}</style></head>x<script>if (a<b) '</p>'</script>y", "xy"],
  ["a<template><p>b<template>c</template>d</p></template>e", "ae"],
  ["a<SCRIPT src='x'/>b<script/>c", "abc"],
  ["a<script>b", "a"],
  ["a<!-- b --><!doctype html><?xml b?><![CDATA[b]]>c", "ac"],
  ["1 < 2 <3> <", "1 < 2 <3> <"],
  ["a<b", "a"],
  ["<pre>\n  a\n    b  c\r\n</pre>d", "  a\n    b  c\n\nd"],
  ["<pre>a<br>b</pre>", "a\nb"],
  ["<ul><li>a</li> <li><p>b</p><li>c</ul>d", " * a\n\n * b\n\n * c\n\nd"],
  ["<ol><li>a<ul><li>b</ul><li>c</ol>", " 1. a\n   * b\n 2. c"],
  ["<table><tr><th>a<th>b<tr><td>c</td> <td>d</td></table>e", "a\tb\nc\td\n\ne"],
  ['<a href="https://e.example/?a&amp;b">link</a> on', "link [https://e.example/?a&b] on"],
  ["<a href=https://e.example/>https://e.example/</a>", "https://e.example/"],
  ["<a href='mailto:a@e.example'>a@e.example</a>", "a@e.example"],
  ["<a href=#x>a</a><a href=javascript:b()>b</a><a href=c><img src=c></a><a>d</a>", "abd"],
  ["<a href=x>a<a href=y>b", "a [x]b [y]"],
  ['<img alt="no" src=x><input value=no><button>go</button>', "go"],
  ["<textarea><b>raw</b></textarea><noscript>seen</noscript>", "<b>raw</b>\nseen"],
])("R-SVH-13 %j reads %j", (html, text) => {
  expect(htmlText(html, 1000)).toBe(text);
});

const SIZE = 2_000_000;
const filled = (piece: string, end = ""): string => piece.repeat(Math.ceil(SIZE / piece.length)) + end;

test.each([
  ["<div>", "x"],
  ["</div>", "x"],
  ["<p>", "x"],
  ["<b><p>", "x"],
  ["<div></p>", "x"],
  ["<a href=x>", "x"],
  ["<a href=x>y", ""],
  ["<a href=x>y</a>", ""],
  ["<a href='", ""],
  ["<a a a=", ""],
  ["<table><tr><td>", "x"],
  ["<ul><li>", "x"],
  ["<ol><li>y", ""],
  ["<blockquote>", "x"],
  ["<pre>", "x"],
  ["<template>", ""],
  ["<script>", ""],
  ["<script></script>", "x"],
  ["</script>", "x"],
  ["<title>&amp;", ""],
  ["<svg><select><option>", "x"],
  ["<", "x"],
  ["</", "x"],
  ["<!", "x"],
  ["<!--", ""],
  ["<!-- -->", "x"],
  ["<![CDATA[", ""],
  ["]]>", ""],
  ["&", ""],
  ["&amp", ""],
  ["&#1", ""],
  ["&CounterClockwiseContourIntegral", ""],
  [" ", "x"],
  ["\n <i> </i>", "x"],
  ["<br>", "x"],
  ["x", ""],
  ["x ", ""],
])("R-SVH-13 megabytes of %j are read in the time that their length asks for", { timeout: 5000 }, (piece, end) => {
  const text = htmlText(filled(piece, end), 150_000);
  expect(text.endsWith(end) || text.length >= 150_000).toBe(true);
});
