// An identity provider for journeys: OpenID Connect with a page on which a browser says who it is. It hands out what it signed, and
// remembers it, so that a journey can look for it where it must not be.
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";

const CLIENT = "skep";
const SECRET = "a long secret between them";
const LIVES = 3600;

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Where the browser goes back to: with a code for each of the people, or with a refusal. */
const back = (asked, answer) => {
  const to = new URL(asked.get("redirect_uri"));
  for (const [name, value] of Object.entries({ ...answer, state: asked.get("state") })) to.searchParams.set(name, value);
  return to.href.replaceAll("&", "&amp;");
};

/** Starts it with these people. Resolves with its address, the settings of a server whose people log in there, all that it signed, and how to stop it. */
export async function startProvider(people) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const codes = new Map();
  const signed = [];
  let url = "";
  const token = (claims) => {
    const said = `${encoded({ alg: "ES256", kid: "one", typ: "JWT" })}.${encoded(claims)}`;
    const whole = `${said}.${sign("sha256", Buffer.from(said), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
    signed.push(whole);
    return whole;
  };
  const page = (asked) => {
    const links = people.map((name) => {
      const code = randomUUID();
      codes.set(code, { name, nonce: asked.get("nonce"), challenge: asked.get("code_challenge") });
      return `<p><a href="${back(asked, { code })}">I am ${name}</a></p>`;
    });
    return `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Who are you?</title>${links.join("")}<p><a href="${back(asked, { error: "access_denied" })}">I say no</a></p></html>`;
  };
  const redeem = (form) => {
    const found = codes.get(form.get("code"));
    codes.delete(form.get("code"));
    const proof = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (found === undefined || proof !== found.challenge) return undefined;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, sub: found.name, aud: CLIENT, iat: now, exp: now + LIVES, preferred_username: found.name, nonce: found.nonce };
    return { token_type: "Bearer", expires_in: LIVES, access_token: token({ ...claims, scope: "openid" }), id_token: token(claims) };
  };
  const server = createServer((request, response) => {
    const json = (value, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    const { pathname, searchParams } = new URL(request.url ?? "", url);
    if (pathname === "/.well-known/openid-configuration") {
      return json({ issuer: url, authorization_endpoint: `${url}/login`, token_endpoint: `${url}/token`, jwks_uri: `${url}/keys`, end_session_endpoint: `${url}/logout` });
    }
    if (pathname === "/keys") return json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "ES256" }] });
    if (pathname === "/login") return response.writeHead(200, { "content-type": "text/html" }).end(page(searchParams));
    if (pathname === "/logout") return response.writeHead(302, { location: searchParams.get("post_logout_redirect_uri") }).end();
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", () => {
      const answer = pathname === "/token" ? redeem(new URLSearchParams(body)) : undefined;
      return answer === undefined ? json({ error: "invalid_grant" }, 400) : json(answer);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}`;
  const oidc = "camunda.security.authentication.oidc";
  const settings = [
    "camunda.security.authentication.method=oidc",
    "camunda.security.authentication.unprotected-api=false",
    `${oidc}.issuer-uri=${url}`, `${oidc}.audiences=${CLIENT}`, `${oidc}.client-id=${CLIENT}`, `${oidc}.client-secret=${SECRET}`, `${oidc}.client-name=The provider`,
    `${oidc}.username-claim=preferred_username`,
    "camunda.security.authorizations.enabled=true",
    "camunda.security.initialization.default-roles.admin.users=anna",
  ];
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, settings, signed, stop };
}
