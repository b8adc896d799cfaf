// What an error code means, and what to do: the pages that are in the documentation.
import { Link, useParams } from "@tanstack/react-router";
import { Fragment, createElement } from "react";
import { Filtered } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { text } from "../../text";
import { type Block, type Piece, blocksOf, piecesOf } from "./markdown";
import { pageOf } from "./pages";
import "../help.css";
import "./errors.css";

const t = text.frame;

export function ErrorPage() {
  const { code = "README" } = useParams({ strict: false });
  const page = pageOf(code);
  const isList = code === "README";
  return (
    <div className="reading">
      <PageTitle title={isList ? t.codes : code} />
      {isList ? null : (
        <p className="help-text help-back">
          <Link to="/help/errors" activeOptions={{ exact: true }}>{t.codesAll}</Link>
        </p>
      )}
      {page === undefined ? <Filtered title={t.codeUnknown}>{t.codeUnknownText(code)}</Filtered> : <Written page={page} />}
    </div>
  );
}

// Neither blocks nor pieces ever move: they are children without keys.
const Written = ({ page }: { page: string }) => createElement("article", { className: "written" }, ...blocksOf(page).map(block));
const sentence = (of: string) => createElement(Fragment, null, ...piecesOf(of).map(piece));

function block(of: Block) {
  if (of.kind === "code") return <pre>{of.text}</pre>;
  if (of.kind === "text") return <p>{sentence(of.text)}</p>;
  if (of.kind === "list") return createElement("ul", null, ...of.items.map((item) => <li key={item}>{sentence(item)}</li>));
  // The first is the title of the page.
  return of.level === 1 ? null : <h2>{of.text}</h2>;
}

function piece({ kind, text: words, to }: Piece) {
  if (kind === "code") return <code>{words}</code>;
  if (kind === "strong") return <b>{words}</b>;
  if (to === undefined) return words;
  const [, code] = /^([A-Z_]+)\.md$/.exec(to) ?? [];
  if (code !== undefined) {
    return (
      <Link to="/help/errors/$code" params={{ code }}>
        {words}
      </Link>
    );
  }
  // Other pages of the documentation are not part of the server: what they are called says where to look.
  return `${words} (docs/${to.replace(/^(\.\.\/)+/, "")})`;
}
