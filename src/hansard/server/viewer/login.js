// Login: sends the code after the # of the link, or the typed token, to the server, which sets an HttpOnly cookie.
// Neither is stored here.

async function logIn(given) {
  const answer = await fetch("/api/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(given) });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  const fault = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  document.getElementById("why").textContent = [fault.error, fault.wayOut].filter(Boolean).join("; ");
}

const say = (error) => { document.getElementById("why").textContent = error.message; };
const box = document.getElementById("token");
const enter = () => logIn({ token: box.value }).catch(say);
box.addEventListener("keydown", (event) => event.key === "Enter" && enter());
document.getElementById("enter").addEventListener("click", enter);

function follow() {
  const code = location.hash.slice(1);
  if (!code) return;
  history.replaceState(null, "", "/login");
  logIn({ code }).catch(say);
}

addEventListener("hashchange", follow);
follow();
